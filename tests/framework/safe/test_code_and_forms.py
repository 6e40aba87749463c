"""Lines of code that hold no secret, and forms of secrets that no name announces."""

from __future__ import annotations

import pytest

from tests.doors import redact_text


@pytest.mark.parametrize("line", ["cookie = self.jar", "    auth = self._auth", "self.token = token"])
def test_a_line_of_code_that_assigns_a_name_stays(line: str) -> None:
    assert redact_text(line) == line


@pytest.mark.parametrize(
    "text",
    [
        "machine api.example.org login bob password s3cr3tpw",
        "machine api.example.org\n  login bob\n  password s3cr3tpw\n",
        "default login bob password s3cr3tpw",
        "machine api.example.org login bob account acme password s3cr3tpw",
    ],
)
def test_the_password_of_a_netrc_entry_is_hidden(text: str) -> None:
    assert "s3cr3tpw" not in redact_text(text)


@pytest.mark.parametrize(
    "token",
    [
        "glsa_HOruNAb7SOiCdshU7algkrq7FDsNSLAa_55e2f8be",
        "glc_eyJvIjoiNzQ0NTA5IiwibiI6InN0YWNrLTEyMyIsImsiOiJtYXBQWTc5MmFuOXY4eDZiIiwibSI6eyJyIjoidXMifX0=",
        "eyJrIjoiT0tTcG1pUlY2RnVKZTFVaDFsNFZXdE9ZWmNrMkZYbkEiLCJuIjoiY3VybCIsImlkIjoxfQ==",
    ],
)
def test_a_token_of_grafana_is_hidden(token: str) -> None:
    shown = redact_text(f"the token {token} was refused by grafana.example.org")
    assert token[:24] not in shown
    assert token[5:] not in shown


_RANDOM = "Kq7Vb2xR9mZt4WpLc8Yd3NfHs6JgTa5Ue1Bo"


@pytest.mark.parametrize(
    "line",
    [
        "self._cookies = cookies",
        "self.refresh_token = resp.refresh_token",
        "credentials: AccessTokenProvider | None = None",
        "token = await provider()",
        'Token.Name: "bold", width=2',
        "sha512-mhSFvSGVIfFvKXGa7jGS0OYBDHGyGyuhAQIvbMrBZpXL7ALHPUdRGbR8ZmKGmRuHfHBKeYmVdvjQvjX2nNWUEA==",
        "/usr/lib/python3/dist-packages/cryptography/hazmat/primitives/asymmetric/X25519PrivateKeys2.py",
        "VaultCredentialAuthResourceMcpOauth2TokenEndpointParam",
        "cache_key=8f14e45fceea167a5a36dedd4bea2543",
        "job_8f14e45fceea167a5a36dedd4bea2543 has ended",
        "commit 8f14e45fceea167a5a36dedd4bea25438f14e45f",
        "auth:\n  rootUser: app\n",
        "cookie = self.jar.get(name)",
        "auth=disabled",
        "last_password_change: 2026-02-01",
        "Please reset your password: https://app.example.org/account",
        "docker login -u ci --password-stdin registry.example.org",
        "docker run -u 1000:1000 shop",
        "psql -U app -p 5433 orders",
        "msbuild /p:Configuration=Release",
        f"nextPageToken: {_RANDOM}",
        f"peer {_RANDOM} connected",
        f"data:image/png;base64,iVBORw0KGgo{_RANDOM}/{_RANDOM}",
        f"github.com/stretchr/testify v1.9.0 h1:{_RANDOM}/Rf3c=",
        "Cookie: theme=dark; lang=pt",
        "mysql -u root -p orders",
        "  --api-key TEXT  The API key. [env var: SHOP_API_KEY]",
        "secret_type: SecretType = SecretType.BASIC",
        'cmd = self.started({"jwt": access_token})',
        'password = "Enter the password of the user"',
        "/srv/shop/src/auth/password_reset.py:121: DeprecationWarning",
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/db-of6U0f",
        'API_KEY = "your-api-key-here"',
        'limitToken: "LIMIT"',
        "read_passphrase: can't open /dev/tty",
        "if password1 != password2:",
        "http://{{ ci.host }}/build?token={{ ci.token }}",
        "POSTGRES_PASSWORD_FILE=/run/secrets/db_password",
        'url: "https://user:pass@localhost/"',
        "SELECT id FROM users WHERE email = $1 AND password = $2",
        "Authorization: Bearer YOUR_API_KEY",
        "Authorization: Bearer ***",
        'password: "Contraseña"',
        '"login.password": "Mot de passe",',
        "password: !vault |",
        "password = models.CharField(max_length=128)",
        "ok  \texample.com/auth/token\t0.86971s",
        "first pass: 76422 ms",
        "auth: oauth2",
        "lexer: token=garden kind=IDENT line=76",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAVftZi/SNDi9NQiBsbvU2O8w52007+EHYKJ4fRtqwl ana@laptop",
        "| password | string | yes |",
        "password  varchar(255)",
        "test_reset_password  0.0312s",
        "auth failed for mailto:ana99@example.org",
        "auth of ghcr:1.27rc2@sha256:8f14e45fceea167a failed",
        'headers = {"Authorization": "Bearer " + self.token}',
        "passphrase: incorrect passphrase given again",
        "password: process.env.PASSWORD || 'example'",
        "existingSecret: postgres-credentials",
        "Authorization: Bearer eyJ...",
        "-v /srv/secrets:/run/secrets:ro",
        "Set-Cookie: session=; Max-Age=0",
        "Authorization: Negotiate",
        "password.encoder=bcrypt",
        "user.password.blank=Please enter a password",
        "docker build --secret id=npm,src=.npmrc .",
        '"token": "Jeton",',
        f"cache hit for key {'8f14e45fceea167a' * 4}",
        "ALTER USER app IDENTIFIED BY PASSWORD",
        "secret_rotation_days=87",
        '{"secrets":[{"name":"DB_URL","updated_at":"2026-11-24T21:50:38Z"}]}',
    ],
)
def test_a_line_with_words_of_secrets_and_none_of_them_stays(line: str) -> None:
    assert redact_text(line) == line


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"newservice_{_RANDOM} was refused", _RANDOM),
        (f"{_RANDOM[:14]}.atlasv1.{_RANDOM}", _RANDOM),
        ("//registry.example.org/:_authToken=hunter2x", "hunter2x"),
        ("auth:\n  rootPassword: hunter2x", "hunter2x"),
        ('  token      = "hunter2x"', "hunter2x"),
        ('{\\"password\\": \\"hunter2x\\"}', "hunter2x"),
        ("- name: DB_PASSWORD\n  value: hunter2x", "hunter2x"),
        ('{"name": "API_TOKEN", "value": "hunter2x"}', "hunter2x"),
        ('<add key="ApiSecret" value="hunter2x" />', "hunter2x"),
        ('form-data; name="password"\r\n\r\nhunter2x', "hunter2x"),
        ('<wsse:Password Type="x">hunter2x</wsse:Password>', "hunter2x"),
        ("define('DB_PASSWORD', 'hunter2x');", "hunter2x"),
        ('.setPassword("hunter2x")', "hunter2x"),
        ("ALTER ROLE app PASSWORD 'hunter2x';", "hunter2x"),
        ("CREATE USER 'app' IDENTIFIED BY 'hunter2x'", "hunter2x"),
        ("jdbc:oracle:thin:scott/hunter2x@db:1521:orcl", "hunter2x"),
        (f"The API key {_RANDOM} is not valid", _RANDOM),
        (f"ALGOLIA_ADMIN_KEY={_RANDOM}", _RANDOM),
        ("SetEnv DB_PASSWORD hunter2x", "hunter2x"),
        ("mysql -u root -phunter2x shop", "hunter2x"),
        ("sqlcmd -S db -U sa -P hunter2x", "hunter2x"),
        ("keytool -list -storepass hunter2x", "hunter2x"),
        ("echo hunter2x | sudo -S apt update", "hunter2x"),
        ("requirepass hunter2x", "hunter2x"),
        ('Authorization: Digest username="bob", response="hunter2x"', "hunter2x"),
        (f"Authorization: GenieKey {_RANDOM}", _RANDOM),
        (f"refused: AWSAccessKeyId=x&Signature={_RANDOM[:28]}", _RANDOM[:28]),
        ("NEO4J_AUTH=neo4j/hunter2x", "hunter2x"),
        ("hapikey=6f1ed002-ab5e-4a5b-8b1c-0242ac120002", "6f1ed002"),
        ("export WEATHER_APPID=8f14e45fceea167a5a36dedd4bea2543", "8f14e45f"),
        ("app.secret_key = b'hunter2x'", "hunter2x"),
        ('Config { token: Some("hunter2x"), retries: 3 }', "hunter2x"),
        (
            "password\n  Input should be longer [type=string_too_short, input_value='hunter2x', input_type=str]",
            "hunter2x",
        ),
        (f"root:$6${_RANDOM[:16]}${_RANDOM}:19700:0:99999:7:::", _RANDOM),
        (f"GET /callback?code={_RANDOM[:20]}&state={_RANDOM[20:]} HTTP/1.1", _RANDOM[:20]),
        ("smbclient //nas/share -U ana%hunter2x", "hunter2x"),
        ("xfreerdp /v:10.0.0.9 /u:ana /p:hunter2x", "hunter2x"),
        ("rabbitmqctl add_user shop hunter2x", "hunter2x"),
        ("snmpwalk -v3 -u bob -A other77 -X hunter2x h", "hunter2x"),
        ("echo hunter2x | kinit ana", "hunter2x"),
        ('ConvertTo-SecureString "hunter2x" -AsPlainText', "hunter2x"),
        ('smtp.login("ana", "hunter2x")', "hunter2x"),
        (f"Unseal 1: {_RANDOM[:20]}/{_RANDOM[20:]}+{_RANDOM[:9]}=", _RANDOM[:20]),
        (f"Jenkins-Crumb: {_RANDOM}", _RANDOM),
        ('if password == "hunter2x":', "hunter2x"),
        ('const TOKEN: string = "hunter2x";', "hunter2x"),
        ('var password string = "hunter2x"', "hunter2x"),
        ('password := "hunter2x"', "hunter2x"),
        ('os.environ["DB_PASSWORD"] = "hunter2x"', "hunter2x"),
        ("WITH PASSWORD = N'hunter2x'", "hunter2x"),
        ("recovery_codes=['7404699266', 'hunter2x']", "7404699266"),
        ("INSERT INTO users (name, password) VALUES ('ana', 'hunter2x')", "hunter2x"),
        ('<string name="api_secret">hunter2x</string>', "hunter2x"),
        ("<key>apiKey</key>\n<string>hunter2x</string>", "hunter2x"),
        ('variable "db_password" { default = "hunter2x" }', "hunter2x"),
        ("root:hunter2x@tcp(127.0.0.1:3306)/shop", "hunter2x"),
        ("db.internal:5432:orders:app:hunter2x", "hunter2x"),
        ("Your verification code is 338179", "338179"),
        ("the password for ana: hunter2x", "hunter2x"),
        ("password was changed to hunter2x for ana", "hunter2x"),
        ('client.password("hunter2x")', "hunter2x"),
        (f"X-Hub-Signature-256: sha256={'0a1b2c3d' * 8}", "0a1b2c3d"),
        ("slack_webhook: https://hooks.example.org/a/hunter2x", "hunter2x"),
        ("Temporary password for root@localhost: Castle_tiger!", "Castle_tiger!"),
        ("bindpw Winter604#", "Winter604#"),
        ("  PASSWORD     garden-coffee-955", "garden-coffee-955"),
        ('Error: invalid api key "8ad82a3323f0bc0784eee860fbe97592"', "8ad82a3323f0"),
        ("Basic auth failed for admin:River471$@db.internal", "River471$"),
        ("openssl enc -aes-256-cbc -in a -out b -k Planet324$", "Planet324$"),
        ("::add-mask::6d2d6567923a9335", "6d2d6567923a9335"),
        ("Command '['curl', '-u', 'ana:Garden1170$', 'https://example.org']' returned 22", "Garden1170$"),
        ("Command '['tool', '--password', 'Garden_falcon', '-v']' returned 22", "Garden_falcon"),
        ("│ password │ Falcon_shadow! │", "Falcon_shadow!"),
        ("| api_key | bZSwIFhlKfiY8xp |", "bZSwIFhlKfiY8xp"),
        ('<Setting Name="StorageKey" Value="W/oHlWMkBUrZoEfjbgR8kLCHGrH+LduC" />', "W/oHlWMkBUrZ"),
        ('{"Key":"db/password","Value":"hunter2x"}', "hunter2x"),
        ('{"Name":"/prod/db/password","Type":"SecureString","Value":"hunter2x"}', "hunter2x"),
        ("passphrase: planet shadow purple orange", "shadow purple"),
        ("signature mismatch; webhook secret was hunter2x", "hunter2x"),
        ("  password: process.env.DB_PASS || 'hunter2x',", "hunter2x"),
        ("password: ${DB_PASSWORD:-hunter2x}", "hunter2x"),
        ('new Uri(u), new ClientSecretCredential(tenant, id, "hunter2x"));', "hunter2x"),
        ('var jwtSecret = []byte("hunter2x")', "hunter2x"),
        ("The provided API key (hunter2xhunter2x) is invalid", "hunter2x"),
        ("ALTER USER app IDENTIFIED BY hunter2x", "hunter2x"),
        ("body: password%3Dhunter2x%26user%3Dana", "hunter2x"),
        (f"API token created: {_RANDOM[:20]}", _RANDOM[:20]),
        ("#0 db.php(12): mysqli->__construct('db', 'app', 'hunter2x', 'orders')", "hunter2x"),
        ("{ name: 'auth', args: [ 'hunter2x' ] }", "hunter2x"),
        ("imaplib.IMAP4.error: LOGIN app hunter2x failed", "hunter2x"),
        ("Default credentials are admin / hunter2x", "hunter2x"),
        ("etcdctl --user root:hunter2x get k", "hunter2x"),
        ("SELECT crypt('hunter2x', gen_salt('bf'))", "hunter2x"),
        ('bcrypt.hashpw(b"hunter2x", salt)', "hunter2x"),
        ('[{"envName":"TOKEN","envValue":"hunter2x"}]', "hunter2x"),
        ("password for ana set to hunter2x", "hunter2x"),
        ('send_keys to [name=password]: "Hunter2xx"', "Hunter2xx"),
        ('{"api":{"key":"hunter2x"}}', "hunter2x"),
        ('Authenticate(user, "hunter2x")', "hunter2x"),
        ("gh secret set TOKEN --body hunter2x", "hunter2x"),
        ('props.put("password", "River_garden!");', "River_garden!"),
        (f"API token is invalid: {_RANDOM[:20]}", _RANDOM[:20]),
        ("aws ssm put-parameter --name /p --value hunter2x --type SecureString", "hunter2x"),
        ("jdbc:sqlserver://db:1433;user=app;password=ap-X#!566&KR;encrypt=true", "!566"),
        ("CREATE ROLE app LOGIN ENCRYPTED PASSWORD 'uV%Y#eA'", "Y#eA"),
    ],
)
def test_a_secret_is_hidden_by_what_stands_around_it(text: str, secret: str) -> None:
    shown = redact_text(text)
    assert secret not in shown
    assert redact_text(shown) == shown
