"""`CircuitBreaker`: stop calling what keeps failing."""
