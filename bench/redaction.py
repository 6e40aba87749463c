"""Redaction over texts it was not made from: secrets hidden in forms of services, harmless lines and names altered.

Secrets are made up in the shapes that services document. Harmless lines and names are those of the standard library, of
installed packages and of the system's own files. Each set of forms was measured once before redaction was changed for
it, which is the figure that tells what other texts meet: 66 % of the first were hidden, 87 % of the second, 78 % of the
third, which are mostly command lines. Of the harmless lines, half are from files that redaction was not changed for.
"""

from __future__ import annotations

import random
import re
import site
import string
import sysconfig
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from measure import Figure, benchmark

from failsoft.framework.safe.secrets import redact_text

__all__ = ["measure"]

_B64 = string.ascii_letters + string.digits + "+/"
_KINDS = {
    "h": string.hexdigits[:16],
    "X": string.digits + "ABCDEF",
    "a": string.ascii_letters + string.digits,
    "A": string.ascii_uppercase + string.digits,
    "n": string.ascii_lowercase + string.digits,
    "b": _B64,
    "u": string.ascii_letters + string.digits + "-_",
    "d": string.digits,
    "p": string.ascii_letters + string.digits + "!.#%^*-_+~",
}
_PART = re.compile(r"\{([hXaAnbudp])(\d+)\}|\{(word|uuid|jwt|pem)\}")
_WORDS = ("Sommer2026!", "tr0ub4dor", "letmein99", "Blue-Kettle-7", "q1w2e3r4t5", "wintermute42", "Passw0rd.77")

# Whatever is in braces is made up, and secret.
_TOKENS = """
github classic|ghp_{a36}
github oauth|gho_{a36}
github app|ghs_{a36}
github refresh|ghr_{a76}
github fine|github_pat_{a22}_{a59}
gitlab personal|glpat-{u20}
gitlab deploy|gldt-{u20}
gitlab runner|glrt-{u20}
gitlab pipeline|glptt-{h40}
gitlab job|glcbt-64_{u20}
gitlab feed|glft-{u20}
gitlab agent|glagent-{u50}
bitbucket app|ATBB{a32}
atlassian|ATATT3xFfGF0{u180}={X8}
npm|npm_{a36}
pypi|pypi-AgEIcHlwaS5vcmc{u120}
rubygems|rubygems_{h48}
crates|cio{a32}
nuget|oy2{n43}
docker hub|dckr_pat_{u27}
openai old|sk-{a48}
openai project|sk-proj-{u48}T3BlbkFJ{u48}
openai service|sk-svcacct-{u60}
anthropic|sk-ant-api03-{u93}AA
anthropic admin|sk-ant-admin01-{u93}AA
openrouter|sk-or-v1-{h64}
huggingface|hf_{a34}
replicate|r8_{a37}
groq|gsk_{a52}
perplexity|pplx-{a48}
xai|xai-{a80}
cohere trial|co_{a40}
google api|AIza{u35}
google oauth secret|GOCSPX-{u28}
google access|ya29.{u120}
google refresh|1//0{u100}
aws id|AKIA{A16}
aws temporary id|ASIA{A16}
azure sas|sig={a40}%3D&se=2027-01-01&sv=2022-11-02
azure client secret|{u3}8Q~{u34}
digitalocean|dop_v1_{h64}
heroku new|HRKU-AA{u60}
fly|fo1_{u43}
render|rnd_{a32}
vercel blob|vercel_blob_rw_{a16}_{a30}
netlify|nfp_{a36}
cloudflare ca|v1.0-{h24}-{h146}
linode|linode{h64}
planetscale|pscale_tkn_{u43}
planetscale password|pscale_pw_{u43}
supabase|sbp_{h40}
supabase secret|sb_secret_{u31}
neon|napi_{n64}
databricks|dapi{h32}
databricks long|dapi{h32}-2
snowflake pat|eyJraWQiOiI{u30}.{u80}.{u80}
mongodb atlas|mdb_sa_sk_{u40}
slack bot|xoxb-{d12}-{d13}-{a24}
slack user|xoxp-{d12}-{d12}-{d12}-{h32}
slack app|xapp-1-A{A10}-{d13}-{h64}
slack refresh|xoxe-1-{a146}
discord bot|MT{a24}.{u6}.{u38}
telegram|{d10}:AA{u33}
twilio key|SK{h32}
sendgrid|SG.{u22}.{u43}
mailgun|key-{h32}
mailgun new|{h32}-{h8}-{h8}
mailchimp|{h32}-us12
brevo|xkeysib-{h64}-{a16}
postmark|POSTMARK_API_TOKEN={uuid}
resend|re_{a8}_{a24}
stripe live|sk_live_{a99}
stripe restricted|rk_live_{a99}
stripe webhook|whsec_{b32}
square|EAAA{u60}
square secret|sq0csp-{u43}
paypal|access_token$production${n16}${h32}
braintree|access_token$sandbox${n16}${h32}
shopify|shpat_{h32}
shopify shared|shpss_{h32}
adyen|AQE{b60}-{b44}=-{a16}
razorpay|rzp_live_{a14}
flutterwave|FLWSECK-{h32}-X
vault service|hvs.{u95}
vault batch|hvb.{u140}
terraform cloud|{a14}.atlasv1.{u67}
pulumi|pul-{h40}
doppler|dp.pt.{a43}
onepassword|ops_eyJ{u250}
age|AGE-SECRET-KEY-1{A58}
sentry user|sntryu_{h64}
sentry org|sntrys_eyJ{b100}_{b43}
grafana service|glsa_{a32}_{h8}
grafana cloud|glc_eyJ{b100}=
new relic user|NRAK-{A27}
new relic insert|NRII-{u32}
dynatrace|dt0c01.{A24}.{A64}
honeycomb|hcaik_{n58}
posthog|phx_{a43}
linear|lin_api_{a40}
notion|ntn_{d11}{a35}
notion old|secret_{a43}
airtable|pat{a14}.{h64}
figma|figd_{u40}
postman|PMAK-{h24}-{h34}
sonar|squ_{h40}
circleci|CCIPAT_{a22}_{h40}
buildkite|bkua_{h40}
launchdarkly|sdk-{uuid}
okta|00{u40}
auth0 jwt|{jwt}
facebook|EAA{a160}
x bearer|AAAAAAAAAAAAAAAAAAAAA{a60}%3D{a40}
mapbox|sk.eyJ{u60}.{u22}
tailscale|tskey-auth-{a12}CNTRL-{a32}
zapier hook|https://hooks.zapier.com/hooks/catch/{d7}/{n7}/
slack hook|https://hooks.slack.com/services/T{A10}/B{A10}/{a24}
discord hook|https://discord.com/api/webhooks/{d18}/{u68}
teams hook|https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{h32}/{uuid}
"""

_TEXTS = r"""
env aws|AWS_ACCESS_KEY_ID=x\nAWS_SECRET_ACCESS_KEY={b40}
env datadog|DD_API_KEY={h32}
env twilio|export TWILIO_AUTH_TOKEN={h32}
env django|SECRET_KEY='{p50}'
env rails|SECRET_KEY_BASE={h128}
env laravel|APP_KEY=base64:{b43}=
env heroku|HEROKU_API_KEY={uuid}
env database|DATABASE_PASSWORD="{word}"
env short|DB_PWD={word}
env azure|AZURE_CLIENT_SECRET={p40}
env cloudflare|CLOUDFLARE_API_TOKEN={u40}
env jwt|JWT_SIGNING_SECRET={a32}
env postgres|POSTGRES_PASSWORD={p16}
env encryption|ENCRYPTION_KEY={h64}
env fernet|FERNET_KEY={u43}=
env datadog app|DATADOG_APP_KEY: {h40}
docker flag|docker run -e MYSQL_ROOT_PASSWORD={word} mysql:8
shell export|  501  export OPENAI_API_KEY={a48}
shell curl header|curl -H 'Authorization: Bearer {u40}' https://api.example.org/v1
shell curl apikey|curl -H "X-Api-Key: {a32}" https://api.example.org/v1
shell curl user|curl -u admin:{word} https://api.example.org/v1
shell curl user joined|curl --user admin:{word} https://api.example.org/
shell curl data|curl -d 'username=bob&password={word}' https://api.example.org/login
shell curl json|curl -d '{"user":"bob","password":"{word}"}' https://api.example.org/login
shell mysql|mysql -u root -p{word} shop
shell sshpass|sshpass -p '{word}' ssh root@10.0.0.4
shell sshpass plain|sshpass -p {word} ssh root@10.0.0.4
shell redis cli|redis-cli -h cache -a {word} ping
shell docker login|docker login -u bob -p {word} registry.example.org
shell docker long|docker login --username bob --password {word}
shell psql|PGPASSWORD='{word}' psql -h db -U app
shell htpasswd|htpasswd -b /etc/nginx/htpasswd bob {word}
shell openssl|openssl enc -aes-256-cbc -pass pass:{word} -in a
shell wget|wget --http-password={word} https://example.org/a
shell vault|vault login token={u24}
shell az|az login --service-principal -u x --password {p40} --tenant y
shell aws configure|aws configure set aws_secret_access_key {b40}
shell git remote|git remote set-url origin https://bob:{word}@git.example.org/a.git
shell git token|git clone https://oauth2:{u20}@gitlab.example.org/a/b.git
shell ftp|lftp -u bob,{word} ftp.example.org
shell ldap|ldapsearch -x -D cn=admin -w {word} -b dc=x
shell echo|echo '{word}' \| sudo -S apt update
shell passwd|echo 'bob:{word}' \| chpasswd
shell smb|mount -t cifs //nas/a /mnt -o username=bob,password={word}
shell zip|7z x -p{word} a.7z
netrc line|machine api.example.org login bob password {word}
netrc lines|machine api.example.org\n\tlogin bob\n\tpassword {word}
netrc default|default login anonymous password {word}
netrc macro|machine a.example.org login bob password {word} macdef init
pgpass|db.example.org:5432:shop:bob:{word}
npmrc|//registry.npmjs.org/:_authToken={a36}
npmrc auth|_auth={b40}
npmrc password|//npm.example.org/:_password={b20}
pypirc|[pypi]\nusername = bob\npassword = {word}
docker config|{"auths": {"https://index.docker.io/v1/": {"auth": "{b40}"}}}
git credentials|https://bob:{word}@github.com
aws credentials|[default]\naws_access_key_id = x\naws_secret_access_key = {b40}\naws_session_token = {b200}
my cnf|[client]\nuser=root\npassword="{word}"
kube token|    user:\n      token: {jwt}
kube key|    client-key-data: {b200}
kube secret|apiVersion: v1\nkind: Secret\ndata:\n  password: {b24}
compose|    environment:\n      - POSTGRES_PASSWORD={word}
compose map|    environment:\n      POSTGRES_PASSWORD: {word}
helm|adminPassword: {word}
helm nested|auth:\n  rootPassword: "{word}"
ansible|ansible_become_pass: {word}
ansible ssh|ansible_ssh_pass={word}
terraform|  master_password = "{word}"
terraform token|  token      = "{u40}"
yaml api|api_key: {a32}
yaml quoted|secret_access_key: "{b40}"
yaml list|- name: DB_PASSWORD\n  value: {word}
json password|{"username": "bob", "password": "{word}"}
json secret|{"clientId": "x", "clientSecret": "{u40}"}
json escaped|"{\"password\": \"{word}\"}"
json token|{"access_token":"{u60}","token_type":"bearer"}
json refresh|{"refreshToken": "{u60}"}
json private|{"private_key_id": "x", "private_key": "-----BEGIN PRIVATE KEY-----\\n{b400}\\n"}
json apikey|{"x-api-key":"{a40}"}
json credentials|{"credentials": {"secretKey": "{b40}"}}
json name value|{"name": "API_TOKEN", "value": "{u40}"}
toml|api_token = "{u40}"
ini|smtp_password: {word}
properties|spring.datasource.password={word}
properties ssl|server.ssl.key-store-password={word}
properties jaas|sasl.jaas.config=org.apache.kafka.PlainLoginModule required username="bob" password="{word}";
php|define('DB_PASSWORD', '{word}');
php array|'password' => '{word}',
ruby|config.secret_key_base = '{h64}'
python kwarg|connect(host="db", user="app", password="{word}")
python dict|{'user': 'bob', 'passwd': '{word}'}
python repr|Settings(url='x', api_key='{a32}', timeout=5)
python bytes|{'Authorization': b'Basic {b24}'}
java|.setPassword("{word}")
js|const apiKey = "{a39}";
js object|{ apiKey: '{a39}', authDomain: 'x' }
js process|process.env.STRIPE_SECRET = '{a32}'
go|Password: "{word}",
c sharp|new NetworkCredential("bob", "{word}")
xml|<Password>{word}</Password>
xml attribute|<add key="ApiSecret" value="{a32}" />
xml maven|<server><id>x</id><username>bob</username><password>{word}</password></server>
xml attr password|<datasource user="sa" password="{word}"/>
header bearer|Authorization: Bearer {u40}
header basic|Authorization: Basic {b24}==
header token|Authorization: token {h40}
header digest|Authorization: Digest username="bob", realm="x", nonce="{h32}", response="{h32}"
header aws|Authorization: AWS4-HMAC-SHA256 Credential=AKIA{A16}/20260101/eu/aws4_request, Signature={h64}
header proxy|Proxy-Authorization: Basic {b24}
header apikey|X-API-Key: {a32}
header gitlab|PRIVATE-TOKEN: {u20}
header vault|X-Vault-Token: {u26}
header cookie|Cookie: sessionid={n32}; csrftoken={a32}
header set cookie|Set-Cookie: JSESSIONID={A32}; Path=/; HttpOnly
header csrf|X-CSRF-Token: {b44}
header goog|X-Goog-Api-Key: {u39}
header ocp|Ocp-Apim-Subscription-Key: {h32}
header shopify|X-Shopify-Access-Token: {h32}
header curl verbose|> Authorization: Bearer {u40}
header lower h2|authorization: bearer {u40}
header list|[('authorization', 'Bearer {u40}'), ('accept', '*/*')]
header bytes|[(b'authorization', b'Bearer {u40}')]
url user|https://bob:{word}@example.org/a
url token user|https://{a36}@example.org/a.git
url token user x|https://{h40}:x-oauth-basic@github.com/a/b.git
url key|https://maps.example.org/v1?address=x&key={u39}
url token|https://api.example.org/a?access_token={u40}
url fragment|https://app.example.org/cb#id_token={jwt}&state=x
url code|https://app.example.org/cb?code={u43}&state=abc
url password|https://example.org/login?user=bob&password={word}
url reset|https://example.org/reset?reset_token={u32}
url s3|https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA{A16}%2F20260101&X-Amz-Signature={h64}
url gcs|https://storage.googleapis.com/b/o?GoogleAccessId=x&Expires=1&Signature={b60}
url azure|https://acct.blob.core.windows.net/c/b?sp=r&sv=2022-11-02&sr=b&sig={a43}%3D
url appid|https://api.openweathermap.org/data?q=x&appid={h32}
url relative|GET /v1/items?api_key={a32} HTTP/1.1
url relative token|"GET /hook?token={u24} HTTP/1.1" 200 13
conn postgres|postgresql://app:{word}@db:5432/shop
conn postgres at|postgres://app:{p12}@db/shop?sslmode=require
conn mysql|mysql+pymysql://root:{word}@127.0.0.1/shop
conn mongo|mongodb+srv://app:{word}@c0.example.net/shop
conn redis|redis://:{word}@cache:6379/0
conn rediss|rediss://default:{a32}@cache:6380
conn amqp|amqps://bob:{word}@mq/vhost
conn mssql|Server=tcp:db,1433;Initial Catalog=shop;User ID=sa;Password={word};Encrypt=True;
conn odbc|DRIVER={ODBC Driver 18};SERVER=db;UID=sa;PWD={word}
conn libpq|host=db user=app password={word} dbname=shop
conn jdbc|jdbc:mysql://db:3306/shop?user=root&password={word}
conn jdbc oracle|jdbc:oracle:thin:scott/{word}@db:1521:orcl
conn storage|DefaultEndpointsProtocol=https;AccountName=x;AccountKey={b86}==;EndpointSuffix=core.windows.net
conn bus|Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={b43}=
conn sqlalchemy|sqlalchemy.url = postgresql+asyncpg://app:{word}@db/shop
conn smtp|smtp://bob%40example.org:{word}@smtp.example.org:587
conn sentry|https://{h32}@o1.ingest.sentry.io/1
conn ldap|ldap://cn=admin:{word}@ldap.example.org
conn clickhouse|clickhouse://default:{word}@ch:9000/db
conn nats|nats://{word}@nats.example.org:4222
pem rsa|{pem}
pem open|-----BEGIN OPENSSH PRIVATE KEY-----\n{b300}\n-----END OPENSSH PRIVATE KEY-----
pem ec|-----BEGIN EC PRIVATE KEY-----\n{b160}\n-----END EC PRIVATE KEY-----
pem encrypted|-----BEGIN ENCRYPTED PRIVATE KEY-----\n{b300}\n-----END ENCRYPTED PRIVATE KEY-----
pem pgp|-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{b300}\n-----END PGP PRIVATE KEY BLOCK-----
pem line|key="-----BEGIN RSA PRIVATE KEY-----\n{b300}"
putty|PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{b64}\nPrivate-MAC: {h64}
jwk|{"kty":"EC","crv":"P-256","d":"{u43}","x":"x"}
wireguard|[Interface]\nPrivateKey = {b43}=
wifi|  psk="{word}"
otp uri|otpauth://totp/x:bob?secret={A32}&issuer=x
log login|login failed for bob with password '{word}'
log json|{"level":"error","msg":"refused","token":"{u40}"}
log logfmt|level=error msg="refused" api_key={a32} status=401
log equals|Invalid credentials: username=bob, password={word}
log sentence|The API key {a32} is not valid
log sentence is|the password is {word}
log openai|Incorrect API key provided: sk-{a48}. You can find your API key at https://x
log form|form={'grant_type': 'password', 'client_secret': '{u40}'}
log sql|CREATE USER app WITH PASSWORD '{word}'
log sql mysql|CREATE USER 'app'@'%' IDENTIFIED BY '{word}'
log sql alter|ALTER ROLE app PASSWORD '{word}';
log exception|ValueError: bad token: '{u40}'
log cookie dict|cookies={'sessionid': '{n32}'}
log multipart|Content-Disposition: form-data; name="password"\n\n{word}
log query|POST /login body: user=bob&pass={word}&next=/
grafana ini|[security]\nadmin_user = admin\nadmin_password = {word}
grafana secure|{"secureJsonData": {"basicAuthPassword": "{word}"}}
grafana file|secureJsonData:\n  httpHeaderValue1: Bearer {u40}
grafana url|http://admin:{word}@grafana.example.org:3000/api
grafana old key|Authorization: Bearer eyJrIjoi{a60}
dropbox|sl.{u130}
dropbox refresh env|DROPBOX_REFRESH_TOKEN={u64}
zendesk env|ZENDESK_API_TOKEN={a40}
jira header|Authorization: Basic {b88}=
algolia|ALGOLIA_ADMIN_KEY={h32}
pinecone|pcsk_{a6}_{a62}
elastic header|Authorization: ApiKey {b56}==
elastic url|https://elastic:{a24}@es.example.org:9243
langsmith|lsv2_pt_{h32}_{h10}
langfuse|sk-lf-{uuid}
wandb env|WANDB_API_KEY={h40}
mistral env|MISTRAL_API_KEY={a32}
deepseek|sk-{h32}
fireworks|fw_{a24}
together env|TOGETHER_API_KEY: {h64}
elevenlabs|sk_{h48}
assembly header|authorization: {h32}
tavily|tvly-dev-{a32}
brave header|X-Subscription-Token: {u31}
firecrawl|fc-{h32}
apify|apify_api_{a36}
browserless url|wss://chrome.browserless.io?token={uuid}
supabase env|SUPABASE_SERVICE_ROLE_KEY={jwt}
firebase json|{"apiKey": "AIza{u35}", "projectId": "x"}
google service|{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\\n{b800}\\n"}
azure devops url|https://{n52}@dev.azure.com/x/_git/y
azure devops user|https://x:{n52}@dev.azure.com/x/_git/y
azure cosmos|AccountEndpoint=https://x.documents.azure.com:443/;AccountKey={b86}==;
azure maps|https://atlas.microsoft.com/map?subscription-key={u43}
aws session cli|aws sts get-session-token --token-code {d6}
aws console|https://signin.aws.amazon.com/federation?Action=login&SigninToken={u200}
aws mws|amzn.mws.{uuid}
gcp metadata|{"access_token":"ya29.c.{u150}","expires_in":3599}
k8s bearer curl|curl -k -H "Authorization: Bearer {jwt}" https://10.0.0.1:6443/api
k8s secret literal|kubectl create secret generic db --from-literal=password={word}
helm set|helm install x y --set auth.password={word}
vault kv|vault kv put secret/db password={word}
consul header|X-Consul-Token: {uuid}
nomad env|export NOMAD_TOKEN={uuid}
rabbit curl|curl -u guest:{word} http://mq:15672/api/overview
kafka props|ssl.truststore.password={word}
kafka sasl|sasl_plain_password='{word}'
cassandra|auth_provider=PlainTextAuthProvider(username='bob', password='{word}')
snowflake url|snowflake://bob:{word}@acct/db/schema?warehouse=x
bigquery|GOOGLE_APPLICATION_CREDENTIALS_JSON='{"private_key":"{b200}"}'
oracle env|ORACLE_PWD={word}
mssql env|SA_PASSWORD={word}
mssql docker|docker run -e "MSSQL_SA_PASSWORD={word}" mcr.microsoft.com/mssql/server
sqlcmd|sqlcmd -S db -U sa -P {word} -Q "select 1"
psql uri|psql "postgresql://app:{word}@db/shop"
mongo shell|mongosh --host db -u root -p {word} --authenticationDatabase admin
mongo dump|mongodump --uri="mongodb://root:{word}@db:27017/shop"
influx|influx query --token {u86}== x
rsync|RSYNC_PASSWORD={word} rsync -a x y
scp|sshpass -e scp a b  # SSHPASS={word}
gpg|gpg --batch --passphrase {word} -d a.gpg
openssl rsa|openssl rsa -in a.pem -passin pass:{word}
keytool|keytool -list -keystore a.jks -storepass {word}
jarsigner|jarsigner -keypass {word} a.jar x
twine|twine upload -u __token__ -p pypi-{u150} dist/*
npm config|npm config set //registry.npmjs.org/:_authToken npm_{a36}
gh login|echo ghp_{a36} \| gh auth login --with-token
git header|git -c http.extraheader="AUTHORIZATION: basic {b60}" fetch
composer|{"github-oauth": {"github.com": "ghp_{a36}"}}
gradle|signing.keyPassword={word}
maven encrypted|<passphrase>{word}</passphrase>
symfony|MAILER_DSN=smtp://bob:{word}@smtp.example.org:465
django dict|'PASSWORD': '{word}',
rails yml|production:\n  secret_key_base: {h128}
spring yaml|spring:\n  datasource:\n    password: {word}
dotnet json|"ConnectionStrings": {"Default": "Server=db;User Id=sa;Password={word};"}
appsettings|"Jwt": {"SigningKey": "{a48}"}
unity|{"clientSecret":"{u40}"}
nginx|proxy_set_header Authorization "Basic {b28}";
apache|SetEnv DB_PASSWORD {word}
haproxy|stats auth admin:{word}
prometheus|basic_auth:\n  username: bob\n  password: {word}
alertmanager|slack_api_url: https://hooks.slack.com/services/T{A9}/B{A9}/{a24}
grafana env|GF_SECURITY_ADMIN_PASSWORD={word}
grafana curl|curl http://admin:{word}@localhost:3000/api/datasources
loki url|https://123456:glc_{b80}@logs-prod.grafana.net/loki/api/v1/push
ppp secrets|password "{word}"
snmp|snmp-server community secret={word}
ios password|username bob password 0 {word}
wpa|wpa_passphrase={word}
samba|password={word}
crypttab key|passphrase: "{word}"
mail url|imaps://bob:{word}@imap.example.org
proxy env|HTTPS_PROXY=http://bob:{word}@proxy:3128
s3cmd|secret_key = {b40}
rclone|pass = {u40}
restic|RESTIC_PASSWORD={word}
borg|BORG_PASSPHRASE='{word}'
log gin|[GIN] 200 GET "/api?apikey={a32}"
log requests|HTTPSConnectionPool(host='x', port=443): Max retries exceeded with url: /v1?key={u39}
log boto|SignatureDoesNotMatch ... AWSAccessKeyId=AKIA{A16}&Signature={b28}
log pydantic|input_value={'password': '{word}'}, input_type=dict
log kwargs|login(username='bob', password='{word}')
log struct|User{Name:"bob", Password:"{word}"}
log rust|Config { token: "{u40}", url: "x" }
log java map|{username=bob, password={word}}
log url enc|redirect=https%3A%2F%2Fx%2F%3Ftoken%3D{u40}
log oauth|{"refresh_token":"1//{u90}","scope":"x"}
log saml|SAMLResponse={b300}
log otp|otp={d6} for bob
log session|session_token={u64}; user=bob
log csrf|csrf_token={h64}
log basic url|GET https://api:key-{h32}@api.mailgun.net/v3
log graph|access_token=EAA{a150}
log ws|Sec-WebSocket-Protocol: bearer, {jwt}
log mcp|{"jsonrpc":"2.0","params":{"arguments":{"api_key":"{a40}"}}}
log env dump|PATH=/bin SECRET_TOKEN={u40} HOME=/root
"""
_FRESH = r"""
clerk|sk_live_{a40}
contentful|CFPAT-{u43}
typeform|tfp_{a44}
ngrok env|NGROK_AUTHTOKEN={a27}_{a20}
plaid env|PLAID_SECRET={h30}
coinbase env|COINBASE_API_SECRET={b86}==
alchemy url|https://eth-mainnet.g.alchemy.com/v2/{u32}
infura env|INFURA_API_KEY_SECRET={a60}
segment env|SEGMENT_WRITE_KEY={a32}
mixpanel json|{"api_secret": "{h32}"}
intercom|dG9rO{b60}=
asana|1/{d16}:{h32}
clickup|pk_{d8}_{A32}
monday jwt|Authorization: {jwt}
hubspot|pat-na1-{uuid}
salesforce|00D{a12}!{u96}
pagerduty header|Authorization: Token token={u20}
opsgenie header|Authorization: GenieKey {uuid}
splunk header|Authorization: Splunk {uuid}
datadog header|DD-API-KEY: {h32}
newrelic license|NEW_RELIC_LICENSE_KEY={h36}NRAL
rollbar env|ROLLBAR_ACCESS_TOKEN={h32}
bugsnag yaml|bugsnag_api_key: {h32}
sentry dsn env|SENTRY_DSN=https://{h32}:{h32}@sentry.example.org/2
snyk env|SNYK_TOKEN={uuid}
codecov|CODECOV_TOKEN: {uuid}
travis yaml|secure: "{b340}="
jenkins curl|curl -u admin:{h34} https://ci.example.org/job/x/build
jenkins header|Jenkins-Crumb: {h64}
teamcity|Authorization: Bearer eyJ0eXAiOiAiVENWMiJ9.{u43}.{u48}
artifactory|AKCp{a69}
artifactory header|X-JFrog-Art-Api: {a73}
nexus settings|<server><username>ci</username><password>{word}</password></server>
cargo toml|[registry]\ntoken = "{a32}"
conda url|https://conda.example.org/t/{a8}-{uuid}/channel
pip conf|index-url = https://bob:{word}@pypi.example.org/simple
poetry|poetry config http-basic.acme bob {word}
bundle|bundle config gems.example.org bob:{word}
dotnet nuget|dotnet nuget push a.nupkg --api-key {a46}
hf cli|huggingface-cli login --token hf_{a34}
az storage|az storage blob list --account-key {b86}==
az sas|az storage blob url --sas-token "sv=2022&sig={a43}%3D"
gcloud|gcloud sql users set-password bob --password={word}
doctl|doctl auth init -t dop_v1_{h64}
heroku config|heroku config:set SECRET={word}
fly secrets|flyctl secrets set DATABASE_URL=postgres://u:{word}@db/x
wrangler|echo "{u40}" \| wrangler secret put API_TOKEN
ansible vault|ansible-playbook x.yml -e "db_password={word}"
terraform var|terraform apply -var="db_password={word}"
tf env|TF_VAR_db_password={word}
compose cli|MYSQL_PASSWORD={word} docker compose up
psql conn|psql "host=db user=app password={word} dbname=x"
pg dump|PGPASSWORD={word} pg_dump -h db x
redis conf|requirepass {word}
redis auth|AUTH {word}
mongo yaml|uri: "mongodb://app:{word}@db1,db2/x?replicaSet=a"
mysql grant|GRANT ALL ON *.* TO 'a'@'%' IDENTIFIED BY '{word}'
mssql login|CREATE LOGIN app WITH PASSWORD = '{word}'
oracle alter|ALTER USER scott IDENTIFIED BY "{word}"
hive|beeline -u jdbc:hive2://h:10000 -n bob -p {word}
sqoop|sqoop import --connect jdbc:mysql://h/x --username bob --password {word}
kinit|echo {word} \| kinit bob
net use|net use Z: \\\\nas\\a /user:bob {word}
wpa nm|802-11-wireless-security.psk:{word}
ipmi|ipmitool -H bmc -U ADMIN -P {word} chassis status
snmpv3|snmpwalk -v3 -u bob -A {word} -X {word} h
ssh ask|sshpass -p{word} ssh h
expect|send "{word}\\r"  # password
java prop|-Djavax.net.ssl.keyStorePassword={word}
java spring|jasypt.encryptor.password={word}
log4j|jdbc.password: {word}
ruby hash|{:password=>"{word}", :user=>"bob"}
ruby kw|connect(password: "{word}")
perl|my $password = '{word}';
php pdo|new PDO("mysql:host=db", "bob", "{word}")
php var|$db_pass = "{word}";
go struct|&Config{APIKey:"{a32}", Region:"eu"}
rust struct|Credentials { user: "bob", password: "{word}" }
c macro|#define WIFI_PASSWORD "{word}"
swift|let apiKey = "{a32}"
kotlin|val clientSecret = "{u40}"
ts const|export const JWT_SECRET: string = "{a32}";
graphql|mutation { login(user: "bob", password: "{word}") { id } }
soap|<wsse:Password Type="x">{word}</wsse:Password>
plist|<key>apiKey</key><string>{a32}</string>
csv|user,password\nbob,{word}
pydantic err|input_value='{u40}', input_type=str  # api_key
httpx log|HTTP Request: POST https://x/oauth/token?client_secret={u40} "HTTP/1.1 401"
aiohttp|headers=<CIMultiDict('Authorization': 'Bearer {u40}')>
grpc meta|metadata=[("x-api-key", "{a32}")]
k8s event|Error: secret "db" key password: "{word}" invalid
dsn pg kv|dsn: user=app password='{word}' host=db
log ldap|bind failed: dn=cn=x, credentials={word}
"""
"""The third set."""
_CARRIERS = (
    "{}",
    "the server refused {}",
    'reason: "{}"',
    '{{"detail": "{} is not known"}}',
    "calling https://api.example.org/v1/me with {} failed (401)",
    "value={}",
    "<{}>",
)
_LOGGED = (
    "KeyError: '{}'",
    "module 'shop' has no attribute '{}'",
    "{}() missing 1 required positional argument: 'name'",
    'File "/srv/shop/{0}.py", line 12, in {0}',
    "got an unexpected keyword argument '{}'",
    "name={} seconds=0.2",
    "`{}` is missing (string)",
    "INFO shop.{}: started in 3 ms",
    '{{"logger": "{}", "level": "info"}}',
    "no parameter `{}`; did you mean `name`?",
)
_PER_FORM = 4

_NEEDLE = re.compile(
    r"(?i)pass|secret|auth|bearer|cred|dsn|otp|mfa|signature|conn|key|token|cookie|psk|webhook|pwd?\b|jwt|cvv|://"
)
_LINES = 3_000


def _made(form: str, dice: random.Random) -> tuple[str, list[str]]:
    """Return the form with its secrets made up, and these."""
    secrets: list[str] = []

    def part(found: re.Match[str]) -> str:
        kind, length, special = found.groups()
        if kind:
            made = "".join(dice.choices(_KINDS[kind], k=int(length)))
        elif special == "word":
            made = dice.choice(_WORDS)
        elif special == "uuid":
            made = "-".join("".join(dice.choices(_KINDS["h"], k=size)) for size in (8, 4, 4, 4, 12))
        elif special == "jwt":
            made = ".".join("".join(dice.choices(_KINDS["u"], k=size)) for size in (30, 80, 43))
            made = f"eyJ{made[3:31]}eyJ{made[34:]}"
        else:
            lines = "\n".join("".join(dice.choices(_B64, k=64)) for _ in range(5))
            secrets.append(lines)
            return f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"
        secrets.append(made)
        return made

    return _PART.sub(part, form), secrets


def secrets(*, fresh: bool) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name of each form, a text, and the secrets in it."""
    known = ((_TOKENS, _CARRIERS), (_TEXTS, ("{}",)))
    for source, carriers in ((_FRESH, ("{}",)),) if fresh else known:
        for line in source.strip().splitlines():
            name, _, form = line.replace(r"\|", "\0").partition("|")
            form = form.replace("\0", "|").replace(r"\n", "\n").replace(r"\t", "\t")
            dice = random.Random(name)  # noqa: S311 - the same texts in each run
            for number in range(_PER_FORM):
                text, made = _made(form, dice)
                yield name, (dice.choice(carriers) if number else "{}").format(text), made


def is_shown(redacted: str, secret: str) -> bool:
    """Return whether a text shows a secret, or eight characters in a row; parts below six may be."""
    if len(secret) < 6:
        return False
    size = min(8, len(secret))
    return any(secret[start : start + size] in redacted for start in range(len(secret) - size + 1))


def _sources(count: int, *, fresh: bool) -> list[Path]:
    """Return files of text on this machine, others where fresh; no tests, which hold made-up secrets."""
    roots = [
        Path(sysconfig.get_path("stdlib")),
        *map(Path, site.getsitepackages()),
        Path("/usr/lib/python3/dist-packages"),
    ]
    files = [file for root in roots if root.is_dir() for file in root.rglob("*.py")]
    for folder, pattern in (
        ("/usr/share/doc", "*"),
        ("/etc", "*.conf"),
        ("/usr/share/perl5", "*.pm"),
        ("/usr/share", "*.md"),
    ):
        files += [file for file in Path(folder).rglob(pattern) if file.is_file() and not file.name.endswith(".gz")]
    kept = [file for file in sorted(set(files)) if not re.search(r"/tests?/|/test_|failsoft|conftest", str(file))]
    random.Random(7).shuffle(kept)  # noqa: S311 - the same files in each run
    return kept[count : 2 * count] if fresh else kept[:count]


def harmless(files: int, *, fresh: bool) -> tuple[list[str], list[str], list[str]]:
    """Return lines of text, lines with a word that secrets have, too, and lines of logs that name such a name."""
    lines: dict[str, None] = {}
    names: dict[str, None] = {}
    for file in _sources(files, fresh=fresh):
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        lines.update(dict.fromkeys(line.strip() for line in text.splitlines() if 4 < len(line.strip()) < 200))
        if file.suffix == ".py":
            names.update(dict.fromkeys(re.findall(r"[A-Za-z_]\w{2,60}", text, re.ASCII)))
    dice = random.Random(7)  # noqa: S311 - as above
    logged = [dice.choice(_LOGGED).format(name) for name in names if _NEEDLE.search(name)]
    worded = [line for line in lines if _NEEDLE.search(line)]
    plain, worded, logged = (dice.sample(found, min(_LINES, len(found))) for found in ([*lines], worded, logged))
    return plain, worded, logged


def altered(texts: Sequence[str]) -> list[str]:
    """Return the texts that redaction changes."""
    return [text for text in texts if redact_text(text) != text]


@benchmark(
    "redaction of texts that it was not made from",
    own={"--show": {"action": "store_true", "help": "print what was altered, or shown"}},
    files=(2_500, 100),
)
def measure(given: Namespace) -> list[Figure]:
    """Return shares of the texts that redaction was tuned on, and of the others."""
    figures = []
    for fresh, which in ((False, "first sets"), (True, "third set")):
        texts = list(secrets(fresh=fresh))
        shown = [text for _, text, made in texts if any(is_shown(redact_text(text), one) for one in made)]
        figures.append(_share(f"secrets hidden, {which}", len(texts) - len(shown), len(texts), ">= 98"))
        kinds = ("lines", "lines with such a word", "lines of logs with such a name")
        for kind, lines in zip(kinds, harmless(given.files, fresh=fresh), strict=True):
            changed = altered(lines)
            figures.append(_share(f"harmless {kind} altered, {which}", len(changed), len(lines), "<= 3"))
            shown += changed
        if given.show:
            print(*(f"{text!r}\n  {redact_text(text)!r}" for text in shown), sep="\n")
    return figures


def _share(name: str, part: int, whole: int, goal: str) -> Figure:
    share = 100 * part / whole
    return Figure(name, share, share, share, "%", goal, f"of {whole}")
