from tests.programs.redis import RedisServer  # noqa: F401 - until its users import it from there
