"""200 secrets in 60 forms, and 200 harmless strings that look a little like them."""

from __future__ import annotations

__all__ = ["FORMS", "HARMLESS", "SECRETS"]

VALUES = ("hunter2", "S3cr3t!pw", "correct-horse-9", "x7Kp2mQ9vB", "Zq8.wE_3rT", "8f14e45fceea167a")
FORMS = (
    "password: {}",
    "password={}",
    "password = '{}'",
    'password="{}"',
    "Password: {}, retry",
    "DB_PASS={}",
    "DB_PASSWORD={} DB_HOST=db",
    "export SMTP_PASS='{}'",
    "PGPASSWORD={} psql -h db",
    "mysql --password={} -h db",
    "tool --password {}",
    "tool --api-key {} --verbose",
    "tool --token={} run",
    "client_secret={}",
    "client-secret: {}",
    '{{"client_secret": "{}"}}',
    "{{'apiKey': '{}'}}",
    '{{"access_token":"{}","expires_in":3600}}',
    "X-API-Key: {}",
    "x-auth-token: {}",
    "api_key = {}",
    "API key: {}",
    "apikey={}",
    "secret: {}",
    "secret_key: '{}'",
    "aws_secret_access_key = {}",
    "AccountKey={};EndpointSuffix=core.windows.net",
    "SharedAccessKey={}",
    "private_key = {}",
    "otp: {}",
    "cvv={}",
    "creds = {}",
    "dsn = {}",
    "connection_string='{}'",
    "passphrase: {}",
    "session_key={}",
    "signing_key => {}",
    "auth_token: {}",
    "refresh_token={}&grant_type=refresh_token",
    "Authorization: Bearer {}{}{}",
    "Authorization: Basic {}{}",
    "authorization: token {}{}",
    "Proxy-Authorization: Basic {}{}",
    "Cookie: sid={}; theme=dark",
    "Set-Cookie: session={}; HttpOnly",
    "https://user:{}@host.example/x",
    "postgres://app:{}@db.example:5432/app",
    "postgresql://app:pa/{}@db.example/app",
    "redis://:{}@cache.example:6379/0",
    "amqp://guest:{}@mq.example//",
    "mongodb+srv://u:{}@c0.example.net/x?w=majority",
    "https://api.example/v1?key={}",
    "https://api.example/v1?page=2&api_key={}",
    "https://acct.blob.example/c?sv=2022&sig={}&se=2026",
    "https://b.s3.example/k?X-Amz-Date=1&X-Amz-Signature={}",
    "https://api.example/cb?code=1&client_secret={}#top",
    "https://h.example/x#access_token={}&state=1",
    "curl -u bob:{} https://api.example/",
    "<password>{}</password>",
    "GET failed with X-Api-Key: {} (403)",
)
_HEX = "0123456789abcdef" * 4
_TOKENS = (
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl_mnop",
    "glpat-abcdefghijklmnopqrst",
    "xoxb-123456789012-abcdefGHIJ",
    "sk-proj-abcdefghijklmnop1234",
    "sk_live_abcdefghij0123456789",
    "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG",
    "hvs.CAESIabcdefghijklmnopqrstuvwxyz",
    f"dop_v1_{_HEX}",
    f"shpat_{_HEX[:32]}",
    "ya29.a0AfH6SMBabcdefghijklmnopqrstuvwxyz",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "GOCSPX-abcdefghijklmnopqrstuvwx",
    "AKIAIOSFODNN7EXAMPLE",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi-AgEIcHlwaS5vcmcCJGabcdefghijkl",
    f"key-{_HEX[:32]}",
    "whsec_abcdefghijklmnopqrstuvwxyz",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
)
_CARRIERS = ("the key {} was refused", "https://{}@git.example/org/repo.git", "{}")


def _secrets() -> list[tuple[str, str]]:
    """Return each text with the secret in it."""
    found = []
    for number, form in enumerate(FORMS):
        values = (VALUES[number % 6], VALUES[(number + 3) % 6])
        found += [(form.format(*[value] * form.count("{}")), value) for value in values]
    found += [(carrier.format(token), token) for token in _TOKENS for carrier in _CARRIERS]
    hook = "T00000000/B00000000/XXXXabcdefghijklmnop0123"
    found += [
        (f"posting to https://hooks.slack.com/services/{hook} failed", hook),
        (f"https://discord.com/api/webhooks/123456789012345678/{hook}", hook),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEowAB\n-----END RSA PRIVATE KEY-----", "MIIEowAB"),
        ("{'password': 'two words'}", "two words"),
        ("password='with \"quotes\" in it'", "quotes"),
        ("url=jdbc:postgresql://h/x?user=a&password=hunter2", "hunter2"),
        ("invalid dsn: Server=db;Database=x;User Id=sa;Password=hunter2;", "hunter2"),
        ("OPENAI_API_KEY=hunter2hunter2", "hunter2hunter2"),
        ("redis.exceptions.AuthenticationError: redis://default:hunter2@h:1/0", "hunter2"),
        ("Login failed for user 'sa' password 'x'. passwd=hunter2", "hunter2"),
        ("headers={'X-Api-Key': 'hunter2', 'Accept': '*/*'}", "hunter2"),
        ("params={'sig': 1, 'token': 'hunter2'}", "hunter2"),
        ("--client-secret hunter2 --region eu", "hunter2"),
        ("MYSQL_ROOT_PASSWORD: hunter2", "hunter2"),
        ("spring.datasource.password=hunter2", "hunter2"),
        ("jwt_secret: hunter2", "hunter2"),
        ("webhook_secret = hunter2", "hunter2"),
        ("ssh_key: hunter2", "hunter2"),
        ("encryptionKey: 'hunter2'", "hunter2"),
        ("bearer: hunter2", "hunter2"),
    ]
    return found


SECRETS = _secrets()

_PROSE = """
The bearer authentication failed.|Invalid parameter 'token': expected string.|max_tokens=5, tokens_used=4
sk-learn-contrib-examples-folder|http://localhost:8080/a@b|https://example.com/login?user=a@b.c
The cookie: it crumbles|eyJ is how a JSON Web Token begins|password must have at least 8 characters
The password is wrong.|token: expected string|password: required|the token has expired|no API key was given
Unauthorized: the API key is missing|key: value|primary_key=7|foreign key constraint failed: orders.user_id
sort_key = name|KeyError: 'name'|keyboard interrupt|token_count: 5|tokenizer = bert-base|next_page_token: abc
cursor_token=eu-1|secretary: Ada|author: Ada Lovelace|authored by Bob|authority=example.org
The author is unknown|passed=5 failed=0|bypass: true|compass=north|passage: 3|git@github.com:org/repo.git
ssh://git@host.example/repo.git|https://docs.example/guide#anchor|mailto:bob@example.org
https://example.org/?page=2&limit=10|https://example.org/a?q=what+is+a+token|s3://bucket/key/with/parts
http://[::1]:8080/x|https://example.org:443/path@version|https://cdn.example/lib@1.2.3/index.js
https://user@host.example/x|file:///a/b|if token == "(": raise SyntaxError|token = tokens[i]
token = lexer.next()|password = getpass()|secret = os.environ["S"]|password=None|secret: null|token: true
password = None,|api_key: str|token: string|auth: none|password=${DB_PASSWORD}|password: {{ db_password }}
token = f(x)|def login(password: str) -> bool:|class TokenError(Exception):|token: int = 0
self.token = token()|return password.strip()|assert token.kind == "name"|for token in tokens:
tokens = text.split()|error id 8f14e45fceea167a
sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855|commit 3f786850e387550f
session_id 0b9d8f3e-5e7f-4f0e-9c1e-2f1d7c1a9b11|request 01ARZ3NDEKTSV4RRFFQ69G5FAV|cpd00027|rxn00001_c0|P69905
NC_000913.3|MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVV|ATGGCGATTAGC
base64 QUJDRA==|v1.2.3-rc.1|2026-11-22T13:15:36.296Z|10.0.0.1:8080|::1|example.org|a.b.c.d|x = 5|name: docs
path: guide/intro.md|limit=20|mode=hybrid|Document not found: guide/intro.md
No file "meu.txt"; closest: "menu.txt".|call `search_documents` again in 2 seconds|connection refused
connection: close|Connection reset by peer|the connection string is not valid|conn=5|signature mismatch
The signature is invalid|def signature(self): pass|signed by Ada|cookies are disabled|Accept cookies?
cookie_policy: strict|Set a password of 12 characters|change your password often|Forgot password?
passwordless login|password_policy=strict|otp required|the OTP has expired|cvv check failed|credit: 5
credits = 10|incredible: yes|discreds|accredited=true|The secret of good tea|secret santa
Secrets Manager is not reachable|secret_name=db|secret_version=3|secretsmanager|bearer token required
Bearer realm="mcp"|WWW-Authenticate: Bearer|basic usage|Basic: a language|authorization required
Authorization failed|oauth flow|auth: none|auth_type=basic|auth_url=https://id.example/auth
authentication=disabled|webhook failed with 500|webhook_url is not set|pwd|cd $(pwd)|the pwd command
PWD changed|jwt expired|a JWT has three parts|glucose: 10.5|growth=0.87|objective: biomass|flux = -10
bounds: -1000, 1000|Escherichia coli|iML1515|GramNegative|ATP + H2O|SELECT * FROM users WHERE key = 1
CREATE TABLE tokens (id int)|DELETE FROM sessions|index tokens_idx|INSERT INTO keys
[Errno 2] No such file or directory|ConnectionRefusedError|TimeoutError after 5 s|HTTP 404|status=200
exit status 1|ls -la|pytest -q -n 2|git commit -m "fix token parser"|docker run -p 80:80 nginx
curl -u https://x|npm install|make -k|monkey: 5|donkey=1|turkey: yes|hockey = 2|key-value store|key-board
keynote: 9 am|keyword = def|keyframes|keyring backend|the key is in the lock|press any key|hotkey: ctrl+k
unlock|locked=true|lock_key: missing|cache_key=docs:1|partition_key=eu|tokenization|detokenize|token ring
a token of thanks|subtoken: 3|token_limit=4096|tokens: 12|output_tokens: 200|n_tokens=3|café: ☕|naïve|Grüße
日本語のテキスト|emoji \U0001f600|tab\tseparated|line one|"quoted"|'single'|`code`|<b>bold</b>|a &amp; b
"""
HARMLESS = [text for line in _PROSE.strip().splitlines() for text in line.split("|")]
