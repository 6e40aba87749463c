"""`CircuitBreaker`: stops calling a dependency that keeps failing."""
