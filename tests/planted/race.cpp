// Every thread writes the same sum: proves that the thread sanitizer sees into OpenMP loops.
int main() {
  int sum = 0;
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 100000; ++i) sum += i % 3;
  return sum == -1;
}
