#include "solver.h"

long double operator_km(long double x)
{
    return x * 1000;
}

int main(void)
{
    for (int i = 0; i < 10; i++)
        solve(i);
    return report(3.0_km);
}
