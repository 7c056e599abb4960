
void exchange(Halo &halo)
{
    MPI_Sendrecv(halo.out, N, MPI_DOUBLE, halo.peer);
}
