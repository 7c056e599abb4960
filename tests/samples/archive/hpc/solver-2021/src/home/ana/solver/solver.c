#include "solver.h"


void solve(int step)
{
    for (int i = 0; i < N; i++) {
        r[i] = b[i] - a[i] * x[i];
        rho += dot(r, r);
    }
    exchange(step);
}


void worker(void)
{
    while (next())
        x[i] += p[i];
}
