# Made by scripts/reference.py from `_FACE` in __init__.py.

from failsoft.framework.call.call import (
    Call as Call,
)
from failsoft.framework.call.chain import (
    Proceed as Proceed,
    RecoveryResult as RecoveryResult,
    RecoveryStrategy as RecoveryStrategy,
)
from failsoft.recovery.idempotency.strategy import (
    Idempotency as Idempotency,
)
from failsoft.recovery.manager import (
    RecoveryManager as RecoveryManager,
)
from failsoft.recovery.strategies.alternate_paths import (
    Alternate as Alternate,
    AlternatePaths as AlternatePaths,
    PathSource as PathSource,
)
from failsoft.recovery.strategies.ask_person import (
    AskPerson as AskPerson,
)
from failsoft.recovery.strategies.attempt_timeout import (
    AttemptTimeout as AttemptTimeout,
)
from failsoft.recovery.strategies.bulkhead import (
    Bulkhead as Bulkhead,
)
from failsoft.recovery.strategies.chaos import (
    Chaos as Chaos,
)
from failsoft.recovery.strategies.circuit_breaker import (
    Circuit as Circuit,
    CircuitBreaker as CircuitBreaker,
    CircuitView as CircuitView,
)
from failsoft.recovery.strategies.fallback import (
    Fallback as Fallback,
)
from failsoft.recovery.strategies.hedge import (
    Hedge as Hedge,
)
from failsoft.recovery.strategies.rate_limit import (
    RateLimit as RateLimit,
)
from failsoft.recovery.strategies.repair_arguments import (
    RepairArguments as RepairArguments,
)
from failsoft.recovery.strategies.retry import (
    Retry as Retry,
)
from failsoft.recovery.strategies.retry_budget import (
    RetryBudget as RetryBudget,
)
from failsoft.recovery.strategies.stale_cache import (
    StaleCache as StaleCache,
)
