"""Texts with a made-up credential in them, and texts with none: for tests, and for the bench that counts misses.

No credential stands here. Each form is a template, filled from an alphabet by a seeded generator: `{A36}` are 36
letters and digits, `{h}` lower hexadecimal, `{H}` upper, `{l}` lower case and digits, `{U}` upper case and digits, `{u}`
letters, digits, `-` and `_`, `{b}` base64, `{d}` digits, `{g}` a UUID. Texts that are `held` out are not looked at while
patterns are written.
"""

# ruff: noqa: E501, RUF001 - texts of all kinds and scripts are the point
from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DEVMEM = Path(__file__).parent / "data" / "devmem.json"

_ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "u": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
    "d": string.digits,
}

_FORM_TABLE = """
aws-access-key AKIA{U16}
aws-temporary-key ASIA{U16}
alibaba LTAI{A20}
google-api AIza{u35}
google-oauth-secret GOCSPX-{u28}
google-access-token ya29.{u120}
digitalocean-personal dop_v1_{h64}
digitalocean-oauth doo_v1_{h64}
digitalocean-refresh dor_v1_{h64}
heroku HRKU-AA{u58}
fly-macaroon fm2_{b120}
fly-old fo1_{u43}
vercel vcp_{A56}
netlify nfp_{A36}
cloudflare-origin-ca v1.0-{h24}-{h146}
cloudflare-api cfut_{A40}
render rnd_{A28}
scalingo tk-us-{u48}
yandex AQVN{u36}
openshift sha256~{u43}
supabase-personal sbp_{h40}
supabase-secret sb_secret_{u31}
planetscale-token pscale_tkn_{u43}
planetscale-password pscale_pw_{u43}
neon napi_{l64}
databricks dapi{h32}
databricks-numbered dapi{h32}-2
clickhouse 4b1d{A38}
github-classic ghp_{A36}
github-oauth gho_{A36}
github-user ghu_{A36}
github-server ghs_{A36}
github-refresh ghr_{A36}
github-fine github_pat_{A22}_{A59}
gitlab-personal glpat-{u20}
gitlab-routable glpat-{u27}.01.{l9}
gitlab-deploy gldt-{u20}
gitlab-runner glrt-{u20}
gitlab-job glcbt-{A2}_{u20}
gitlab-trigger glptt-{h40}
gitlab-feed glft-{u20}
gitlab-mail glimt-{u25}
gitlab-agent glagent-{u50}
gitlab-oauth gloas-{h64}
gitlab-scim glsoat-{u20}
gitlab-registration GR1348941{u20}
bitbucket ATBB{A32}
atlassian ATATT3xFfGF0{u180}
npm npm_{A36}
pypi pypi-AgEIcHlwaS5vcmc{u150}
crates cio{A32}
rubygems rubygems_{h48}
nuget oy2{l43}
clojars CLOJARS_{l60}
docker-personal dckr_pat_{u27}
docker-organisation dckr_oat_{u32}
artifactory AKCp{A69}
circleci CCIPAT_{A22}_{h40}
buildkite bkua_{h40}
harness pat.{A22}.{A24}.{A20}
octopus API-{U26}
terraform-cloud {A14}.atlasv1.{u67}
pulumi pul-{h40}
infracost ico-{A32}
prefect pnu_{A36}
sonar-user squ_{h40}
sonar-project sqp_{h40}
sourcegraph sgp_{h16}_{h40}
vault-service hvs.{u90}
vault-batch hvb.{u140}
doppler dp.pt.{A43}
1password-service ops_eyJ{b300}
1password-key A3-{U6}-{U11}-{U5}-{U5}-{U5}
age AGE-SECRET-KEY-1{U58}
tailscale tskey-auth-{A16}-{A32}
tailscale-api tskey-api-{A16}-{A32}
launchdarkly sdk-{g}
anthropic sk-ant-api03-{u93}AA
anthropic-admin sk-ant-admin01-{u93}AA
openai-classic sk-{A20}T3BlbkFJ{A20}
openai-project sk-proj-{u74}T3BlbkFJ{u74}
openai-service sk-svcacct-{u74}T3BlbkFJ{u74}
openrouter sk-or-v1-{h64}
deepseek sk-{h32}
nvidia nvapi-{u64}
groq gsk_{A52}
xai xai-{A80}
perplexity pplx-{A48}
hugging-face hf_{A34}
replicate r8_{A37}
fireworks fw_{A24}
together tgp_v1_{u43}
cerebras csk-{l48}
pinecone pcsk_{A6}_{A63}
langsmith lsv2_pt_{h32}_{h10}
langfuse sk-lf-{g}
voyage pa-{u43}
jina jina_{h32}{u27}
tavily tvly-dev-{A32}
firecrawl fc-{h32}
e2b e2b_{h40}
elevenlabs sk_{h48}
runpod rpa_{U44}
mem0 m0-{A40}
stripe-live sk_live_{A24}
stripe-test sk_test_{A99}
stripe-restricted rk_live_{A24}
stripe-webhook whsec_{A32}
square sq0atp-{u22}
square-secret sq0csp-{u43}
square-production EAAA{u60}
braintree access_token$production${l16}${h32}
plaid access-production-{g}
razorpay rzp_live_{A14}
flutterwave FLWSECK_TEST-{h32}-X
easypost EZAK{A54}
duffel duffel_live_{u43}
shippo shippo_live_{h40}
slack-bot xoxb-{d12}-{d13}-{A24}
slack-user xoxp-{d12}-{d12}-{d13}-{h32}
slack-app xapp-1-A{U10}-{d13}-{h64}
slack-refresh xoxe-1-{A146}
slack-webhook https:\x2f/hooks.slack.com/services/T{U8}/B{U10}/{A24}
discord-bot M{A23}.{A6}.{u38}
discord-webhook https:\x2f/discord.com/api/webhooks/{d18}/{u68}
telegram {d10}:AA{u33}
sendgrid SG.{u22}.{u43}
twilio-key SK{h32}
mailgun key-{h32}
mailchimp {h32}-us12
brevo xkeysib-{h64}-{A16}
resend re_{A8}_{A24}
mailersend mlsn.{h64}
typeform tfp_{A44}_{A14}
notion-new ntn_{d11}{A35}
notion-old secret_{A43}
linear lin_api_{A40}
figma figd_{u40}
airtable pat{A14}.{h64}
clickup pk_{d8}_{U32}
hubspot pat-na1-{g}
contentful CFPAT-{u43}
readme rdme_{l70}
postman PMAK-{h24}-{h34}
frameio fio-u-{u64}
dropbox sl.{u135}
shopify-access shpat_{h32}
shopify-custom shpca_{h32}
shopify-private shppa_{h32}
shopify-shared shpss_{h32}
calcom cal_live_{h32}
posthog phx_{A43}
mapbox sk.eyJ{A80}.{u22}
facebook EAAC{A150}
linkedin WPL_AP1.{A16}.{A8}==
twitter-bearer AAAAAAAAAAAAAAAAAAAAA{A40}%3D{A50}
sentry-organisation sntrys_eyJ{b120}_{b43}
sentry-user sntryu_{h64}
grafana-service glsa_{A32}_{h8}
grafana-cloud glc_eyJ{b100}
new-relic-user NRAK-{U27}
new-relic-browser NRJS-{h19}
new-relic-insert NRII-{u32}
dynatrace dt0c01.{U24}.{U64}
honeycomb hcaik_{l58}
logfire pylf_v1_eu_{A43}
axiom xaat-{g}
settlemint sm_pat_{A16}
adobe p8e-{u32}
azure-client-secret {A3}8Q~{u31}{A3}
maxmind {A6}_{A29}_mmk
jwt eyJ{u33}.eyJ{u80}.{u43}
jwt-encrypted eyJ{u60}.{u100}.{u16}.{u80}.{u22}
hugging-face-organisation api_org_{A34}
"""
FORMS = [line for line in _FORM_TABLE.splitlines() if line]

_FRAMES = (
    "{}",
    "The new one is {}, please keep it.",
    "use {} for staging",
    "(see {})",
    "`{}`",
    'const client = new Client("{}");',
    '{{"credential": "{}", "region": "eu"}}',
    "credential: {}\nregion: eu",
    "SERVICE_CREDENTIAL={}",
    "https://api.example.org/v1/items?auth={}&page=2",
    "X-Service-Auth: {}",
    "curl -H 'X-Auth: {}' https://api.example.org",
    "**Key:** {}\n",
    "<{}>",
    "2026-02-01 INFO using {} for the job",
)
_MORE_FRAMES = (
    "I put {} into the settings of the runner; it expires in May.",
    "export THING='{}' && make deploy",
    "- {}\n- and another one that is gone",
    "| prod | {} | Anna |",
    "client = Client({}, timeout=3)",
    "Wir nehmen {} bis Freitag.",
    "ENV THING {}",
    "header=Basic-ish:{};q=1",
    "→ {} ←",
    "thing = '{}'  # do not commit",
)

_PASSWORDS = (
    "hunter{d1}",
    "{A14}x9",
    "Sommer20{d2}!",
    "Tr0ub4dor&{d1}",
    "{l8}{d3}",
    "p@ss{l4}!{d2}",
    "x{u18}Q7",
    "{A4}-{A4}-{A4}7",
)
_KEYS = ("{h32}", "{A40}", "{u43}z9", "{A24}7Q")

_PASSWORD_PHRASES = (
    "the password is {}",
    "The password is {}.",
    "The staging password is {} now.",
    "password for staging: {}",
    "the password for the admin user is {}",
    "password: {}",
    "Password: `{}`",
    "**Password:** {}",
    "DB_PASS={}",
    "DB_PASSWORD='{}'",
    "MYSQL_ROOT_PASSWORD: {}",
    "export PGPASSWORD={}",
    'password = "{}"',
    '{{"user": "admin", "password": "{}"}}',
    "curl -u admin:{} https://api.example.org/v1",
    "curl --user 'admin:{}' https://api.example.org/v1",
    "psql --password {} -h db",
    "mycli --password={} --verbose",
    "mysql -u root -p{} app",
    "sshpass -p {} ssh root@10.0.0.5",
    "postgres://app:{}@db.internal:5432/app",
    "mongodb+srv://app:{}@cluster0.example.net/test",
    "redis://:{}@cache:6379/0",
    "Server=db;Database=app;User Id=sa;Password={};Encrypt=yes",
    "Passwort: {}",
    "Das Passwort lautet {}",
    "Das Passwort für den Staging-Server lautet {}.",
    "Das Kennwort ist {}",
    "mot de passe : {}",
    "Le mot de passe du wifi est {}",
    "contraseña: {}",
    "La contraseña es {}",
    "senha: {}",
    "wachtwoord: {}",
    "hasło: {}",
    "пароль: {}",
    "Пароль от сервера: {}",
    "密码是{}",
    "密码：{}",
    "パスワードは {} です",
    "비밀번호는 {} 입니다",
    "login with user admin and password {}",
    "credentials: admin / {}",
    "The passphrase is: {}",
    "I changed the password to {} yesterday.",
    "spring.datasource.password={}",
    "<password>{}</password>",
    "machine api.example.org login me password {}",
    "os.environ['DB_PASSWORD'] = '{}'",
    "wifi pwd: {}",
)
_MORE_PASSWORD_PHRASES = (
    "The VPN password is {}",
    "vpn password = {}",
    "Password for anna@example.org is {}",
    "the password is: {}",
    "Password ist {}",
    "Das Passwort vom Router: {}",
    'Passwort: "{}"',
    "Das neue Passwort ist jetzt {}.",
    "admin-Passwort={}",
    "Mot de passe: {}",
    "mdp : {}",
    "Le mot de passe est : {}",
    "Contraseña: {}",
    "la clave del wifi es {}",
    "la contraseña nueva es {}",
    "Palavra-passe: {}",
    "Пароль — {}",
    "пароль: {}",
    "密码：{}",
    "密码为{}",
    "密码: {}",
    "パスワードは{}です",
    "パスワード：{}",
    "كلمة المرور: {}",
    "كلمة المرور هي {}",
    "סיסמה: {}",
    "पासवर्ड: {}",
    "पासवर्ड है {}",
    "DB_PASS={}",
    "DB_PASS: {}",
    'DB_PASS="{}"',
    "dbPass: '{}'",
    'db_pass = "{}"',
    '"db_pass": "{}"',
    "MYSQL_PWD={}",
    "SMTP_PASS={}",
    "FTP_PASSWD={}",
    "ROOT_PW={}",
    "postgresql+asyncpg://u:{}@host/db",
    "jdbc:postgresql://host/db?user=fred&password={}&ssl=true",
    "jdbc:sqlserver://h:1433;user=sa;password={};",
    "DATABASE_URL=postgres://u:{}@h:5432/d",
    "curl -u bob:{} https://x.example",
    "curl -ubob:{} https://x.example",
    "curl --user bob:{} https:\x2f/x",
    "curl https://x.example -u 'bob:{}'",
    "curl -sS -X POST -u bob:{} -d '{{}}' https:\x2f/x",
    "http -a bob:{} GET https:\x2f/x",
    "wget --password={} https:\x2f/x",
    "mysqldump -uroot -p{} db",
    "mysql --password={} db",
    'psql "host=db user=u password={} dbname=d"',
    "PGPASSWORD={} psql -h db",
    "redis-cli -a {} ping",
    "docker login -u bob -p {} ghcr.io",
    "echo {} | docker login --password-stdin",
    "sshpass -p '{}' ssh host",
    "az login -u bob -p {}",
    "kubectl create secret generic db --from-literal=password={}",
    "helm install x --set auth.password={}",
    "ansible-playbook -e ansible_password={} site.yml",
    "openssl rsa -passin pass:{} -in k.pem",
    'mongosh "mongodb://u:{}@h/db"',
    "wpa_passphrase={}",
    'psk="{}"',
    "credentials: bob:{}",
    "login: bob / {}",
    "user bob, password {}",
    "username: bob password: {}",
    "the creds are bob:{}",
    "ssh bob:{}@10.0.0.5",
    "bob:{}@db.internal",
    "smtp://bob:{}@mail:587",
    "ftp://bob:{}@ftp.example.org",
    '<add key="Password" value="{}" />',
    "<password>{}</password>",
    "password => '{}'",
    ':password => "{}"',
    'password := "{}"',
    'self.password = "{}"',
    'setPassword("{}")',
    'connect(user="u", password="{}")',
    "connect(user='u', passwd='{}')",
    'requests.get(u, auth=("bob", "{}"))',
    "password:\n  {}",
    "Password:\n```\n{}\n```",
    "- Password: **{}**",
    "the PIN-protected passphrase is {}",
    "we use {} as the root password",
    "{} is the password for staging",
    "--password {}",
    "pass = {}",
    "user=u&pass={}",
    "pw={}",
)
_PASSWORD_PHRASES_2 = (
    "Root password is currently {}",
    "here is the password: {}",
    "Remember that the Grafana admin password is {}",
    "the db password on prod-2 is {}",
    "Password (staging): {}",
    "pw: {}",
    'ADMIN_PASSWORD: "{}"',
    "REDIS_PASS={}",
    "ansible_become_pass={}",
    "spring:\n  datasource:\n    password: {}",
    'curl -X POST -u "bob:{}" https://api.example.org',
    "wget --user=bob --password={} https://files.example.org/a.zip",
    "amqp://guest:{}@rabbit:5672/",
    "mysql://root:{}@127.0.0.1/app",
    "Kennwort für das NAS: {}",
    "Unser WLAN-Passwort ist {}",
    "le mot de passe est {}",
    "la contraseña del servidor es {}",
    "A senha do banco é {}",
    "La password è {}",
    "Het wachtwoord is {}",
    "Hasło do bazy: {}",
    "пароль для админки: {}",
    "数据库密码：{}",
    "管理员密码为 {}",
    "パスワード：{}",
    "비밀번호: {}",
    "Şifre: {}",
    "set the password to {} on all hosts",
    "user: admin, password: {}",
)
_KEY_PHRASES = (
    "the API key is {}",
    "API key: {}",
    "api_key={}",
    "apiKey: '{}',",
    "Datadog API key: {}",
    "X-Api-Key: {}",
    "DD_API_KEY={}",
    "ALGOLIA_ADMIN_KEY={}",
    "client_secret: {}",
    "the client secret is {}",
    "access token: {}",
    "Authorization: Bearer {}",
    "-H 'Authorization: Token {}'",
    "PRIVATE-TOKEN: {}",
    "https://api.example.org/?access_token={}",
    "Set-Cookie: session={}; Path=/; HttpOnly",
    "Cookie: theme=dark; auth={}",
    "mycli --token {} --verbose",
    "mycli --api-key={}",
    "clé API : {}",
    "API-Schlüssel: {}",
    "ключ API: {}",
    "the Mistral API key {} expires in May",
    "_authToken={}",
    "CLOUDFLARE_API_TOKEN={}",
    "Ocp-Apim-Subscription-Key: {}",
    "COHERE_API_KEY={}",
    'secret_key: "{}"',
)
_MORE_KEY_PHRASES = (
    "Cookie: session={}",
    "Set-Cookie: connect.sid={}; Path=/; HttpOnly",
    'cookie: "auth_token={}"',
    "JSESSIONID={}",
    'document.cookie = "sid={}"',
    "curl -b 'session={}' https:\x2f/x",
    'curl --cookie "sid={}" https:\x2f/x',
    "Authorization: Basic {}",
    'Authorization: Token token="{}"',
    "authorization: {}",
    "Proxy-Authorization: Basic {}",
    "x-api-key: {}",
    "X-Auth-Token: {}",
    "X-Vault-Token: {}",
    'headers={{"Authorization": "Bearer {}"}}',
    "headers = {{'X-API-Key': '{}'}}",
    "?api_key={}&x=1",
    "&token={}",
    "the token is {}",
    "Our API token for Linear is {}",
    "use token {} for the deploy",
    "the secret is {}",
    "my secret key: {}",
    "OpenAI key: {}",
    "the OpenAI key is {}",
    "Mistral key {}",
    "COHERE_KEY={}",
    "DATADOG_APP_KEY={}",
    "DD_APP_KEY: {}",
    '"clientSecret": "{}"',
    "client_secret={}",
    "AZURE_CLIENT_SECRET={}",
    "AccountKey={}==;EndpointSuffix=core.windows.net",
    "SharedAccessKey={}",
    "WEBHOOK_SECRET={}",
    "SECRET_KEY = '{}'",
    'JWT_SECRET: "{}"',
    "NEXTAUTH_SECRET={}",
    "PrivateKey = {}=",
    "PresharedKey = {}=",
    "https:\x2f/{}@github.com/a/b.git",
    "https:\x2f/x-access-token:{}@github.com/a/b.git",
    "//npm.example.com/:_authToken={}",
    '"auth": "{}"',
    "<apiKey>{}</apiKey>",
    "- **API key**: `{}`",
    'API_KEY="{}"',
    "export API_KEY={}",
    "set API_KEY={}",
    '$env:API_KEY = "{}"',
    "apikey {}",
    "api_token: {}",
    'bot_token = "{}"',
    "auth_key: {}",
    "consumer_secret={}",
    "refresh_token={}",
    "id_token={}",
    "sessionToken: {}",
    "--token={}",
    "--api-key {}",
    "--secret {}",
    "ENV API_KEY {}",
    "ARG TOKEN={}",
)
_KEY_PHRASES_2 = (
    "our Algolia admin API key is {}",
    "Okta API token: {}",
    "PAGERDUTY_TOKEN={}",
    "Use the access token {} until Friday.",
    "authorization: bearer {}",
    "set-cookie: sid={}; secure",
    '"api_token": "{}"',
    "webhook secret: {}",
    "signing secret is {}",
    "TWILIO_AUTH_TOKEN={}",
    'let token = "{}";',
    "api key for Datadog is {}",
    "auth token for the bot: {}",
    "JWT_SECRET={}",
    "令牌：{}",
    "API キーは {} です",
)

_HELD_FRAMES = (
    "Anna sent {} over chat; it is for the nightly job.",
    "args: [--verbose, {}]",
    "thing={};other=1",
    "console.log('{}')",
    "# old: {}",
    'val THING = "{}"',
    "* token -> {} (read only)",
    "Bitte {} verwenden, nicht den alten.",
    "set -x THING {}",
    "{{'thing': '{}'}}",
)
_HELD_PASSWORD_PHRASES = (
    "Just so you know, the password of the NAS is {}.",
    "Password -> {}",
    "the root password was set to {} by Ben",
    "please remember my Netflix password: {}",
    "db.password: {}",
    'DATABASE_PASSWORD = "{}"',
    "POSTGRES_PASSWORD={} docker compose up",
    "'pass' => '{}',",
    "pg_password: '{}'",
    'curl -k --user "root:{}" https:\x2f/nas.local/api',
    "mariadb -u root -p{} shop",
    "rabbitmq: amqps://svc:{}@mq.example.org/vhost",
    "Das Root-Passwort ist {}.",
    "Zugang zum Router: Benutzer admin, Passwort {}",
    "Neues Kennwort: {}",
    "Le nouveau mot de passe est {}",
    "mot de passe root : {}",
    "La contraseña de la base de datos es {}.",
    "La senha do servidor é {}",
    "La password del database è {}",
    "Het wachtwoord van de server is {}",
    "Nowe hasło to {}",
    "Пароль от базы: {}",
    "Новый пароль: {}",
    "服务器的密码是 {}",
    "新密码：{}",
    "新しいパスワードは {} です。",
    "관리자 비밀번호는 {} 입니다",
    "Yeni şifre: {}",
    "use {} as the password",
)
_HELD_KEY_PHRASES = (
    "The Postmark server token is {}.",
    "your api key = {}",
    "GEMINI_API_KEY: {}",
    "headers['X-API-Key'] = '{}'",
    "export ACCESS_TOKEN='{}'",
    'auth_token: "{}"',
    "oauth client secret = {}",
    "Cookie: sessionid={}",
    "Bearer {}",
    "webhook signing secret: {}",
    "terraform login token: {}",
    "Der API-Schlüssel lautet {}",
    "La clé API est {}",
    "La clave de API es {}",
    "APIキー：{}",
    "hmac_key={}",
)


class Text(NamedTuple):
    """A text, the credential in it (empty where there is none), and what kind of text it is."""

    kind: str
    text: str
    secret: str = ""


def filled(template: str, drawn: random.Random) -> str:
    """A template with its places filled."""

    def fill(place: re.Match[str]) -> str:
        if place[1] == "g":
            return "-".join("".join(drawn.choices(_ALPHABETS["h"], k=size)) for size in (8, 4, 4, 4, 12))
        made = drawn.choices(_ALPHABETS[place[1]], k=int(place[2] or 1))
        for end in (0, -1):  # "-" at an end is a sentence's
            made[end] = made[end] if made[end] not in "-_+/" else "k"
        return "".join(made)

    return re.sub(r"\{([a-zA-Z])(\d*)\}", fill, template)


def forms(seed: int, *, held: bool = False) -> Iterator[Text]:
    """Every vendor's form, in every frame."""
    drawn = random.Random(seed)  # noqa: S311 - made-up credentials
    for line in FORMS:
        name, _, template = line.partition(" ")
        for frame in _HELD_FRAMES if held else (*_FRAMES, *_MORE_FRAMES):
            secret = filled(template, drawn)
            yield Text(name, frame.format(secret), secret)


def phrases(seed: int, *, held: bool = False) -> Iterator[Text]:
    """What people and programs write around a password or a key that no prefix tells."""
    drawn = random.Random(seed)  # noqa: S311 - made-up credentials
    passwords = _HELD_PASSWORD_PHRASES if held else _PASSWORD_PHRASES + _PASSWORD_PHRASES_2 + _MORE_PASSWORD_PHRASES
    keys = _HELD_KEY_PHRASES if held else _KEY_PHRASES + _KEY_PHRASES_2 + _MORE_KEY_PHRASES
    for frames, templates in ((passwords, _PASSWORDS), (keys, _KEYS)):
        for frame in frames:
            for template in templates:
                secret = filled(template, drawn)
                quoted = secret.replace("@", "%40") if "://" in frame or "{}@" in frame else secret
                yield Text(frame, frame.format(quoted), quoted)


# --- texts without a credential -------------------------------------------------------------------

_MADE = {
    "hash": (
        "fixed in {h40}", "md5 {h32} of the image", "sha256: {h64}", "SHA-512 (a.iso) = {h128}", "digest sha256:{h64}",
        "{h64}  holdfast-1.2.0.tar.gz", 'ETag: "{h32}"', "git show {h12}", "commit {h40}\nAuthor: Anna", "blob {h40}",
        "the build {h8} is broken since {h7}", "image: registry.example.org/app@sha256:{h64}", "tree {h40}",
        "cache key {h32} was evicted", "object {h40} is missing", "https:\x2f/github.com/a/b/commit/{h40}",
        "the token count of chunk {h16} is 512", "checksum={h64}", "crc32 {H8}", "fingerprint SHA256:{b43}",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} anna@badger", "known hash {b44}=", "index {h7}..{h7} 100644",
    ),
    "uuid": (
        "id {g}", "request {g} took 12 ms", '{{"id": "{g}"}}', "the volume {g} is full", "UUID={g} / ext4 defaults 0 1",
        "trace_id={g}", "see https://app.example.org/items/{g}", "mem_{l16}", "tenant {g} has no quota", "<{g}>",
    ),
    "base64": (
        "![](data:image/png;base64,iVBORw0KGgo{b900}==)", '<img src="data:image/gif;base64,R0lGOD{b1200}">',
        "src: url(data:font/woff2;base64,d09GMgAB{b2400}=)", "{b76}\n{b76}\n{b76}\n{b40}==",
        "-----BEGIN CERTIFICATE-----\n{b64}\n{b64}\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n{b64}\n{b64}\n-----END PUBLIC KEY-----",
    ),
    "lock file": (
        '"resolved": "https:\x2f/npm.example.com/ms/-/ms-2.1.3.tgz", "integrity": "sha512-{b86}=="',
        "golang.org/x/net v0.33.0 h1:{b43}=", "golang.org/x/net v0.33.0/go.mod h1:{b43}=",
        'checksum = "{h64}"', "    --hash=sha256:{h64} \\", "  integrity sha512-{b86}==",
        '{{ file = "ms-2.1.tar.gz", hash = "sha256:{h64}" }}', 'hash = "sha256-{b43}=";', 'narHash = "sha256-{b43}="',
        "specifier: ^4.17.21\n    version: 4.17.21({h26})", "  resolution: {{integrity: sha512-{b86}==}}", 'rev = "{h40}";',
    ),
    "numbers": (
        "ISBN 978-3-{d2}-{d6}-{d1}", "ISBN-10: {d9}X", "+49 30 {d8}", "order {d10} was paid", "IBAN DE{d20}", "{d13}",
        "epoch 17{d8}", "10.{d2}.{d2}.{d1}:54{d2}", "{d4}-{d4}-{d4}", "DOI 10.{d4}/s{d5}-{d3}-{d5}-{d1}", "v{d1}.{d2}.{d3}",
    ),
    "minified": (
        "!function(e,t){{var n={{}};function r(o){{if(n[o])return n[o].exports;var i=n[o]={{i:o,l:!1}};return e[o].call()}}}}([])//{h20}",
        "const{{token:a,secret:b}}=c;d(a,b,{h1},0x{h6})", ".a{h5}{{color:#{h6};margin:0 {d1}px}}.b_{A5}{{padding:{d2}px}}",
        "e.exports=JSON.parse('{{\"a\":\"{h8}\",\"b\":[{d3},{d3}]}}')", "var _0x{h6}=['push','{A6}'];(function(a,b){{}})(_0x{h6},0x{h3})",
        "module.{h20}.chunk.js", "main.{h8}.css?v={h10}",
    ),
}  # fmt: skip

_PLAIN = """
the password is stored in 1Password
password is required
Password is required.
the password policy is strict
the token is expired
Token is expired, log in again
The password must have at least 12 characters and 2 digits.
the password has to be changed every 90 days
password: see 1Password
Password: at least 12 characters, one digit
passwords are hashed with argon2id
the password is hashed with bcrypt (cost 12)
The password was rotated on 2026-02-01.
password for staging is in the vault
the password for the admin user is in 1Password under staging-2
the secret is mounted at /run/secrets/db_password_1
The secret is read from AWS Secrets Manager at start-up.
API keys are kept in Doppler
the API key is missing
The API key is rotated by Terraform every 30 days
api_key is not a valid argument
token: the smallest unit that the tokenizer makes
tokens: 8192
max_tokens=4096
the token limit is 200k
token usage: 15,302 of 200,000
token_type: Bearer
grant_type=password&username=anna
Basic authentication is not allowed over HTTP.
Bearer authentication is what the API expects
the access token expires after 3600 seconds
refresh tokens live for 30 days
the pass rate is 98.5 %
PASS: test_login_2 (0.13s)
pass: 12, fail: 0
tests pass: 42/42
the passphrase is asked for at boot
the password prompt is shown twice
password reset e-mails come from no-reply@example.org
password123 is a bad password
Forgot your password? Click here.
change the password before you go live
the key is under the mat
the key idea is simple
primary key: id
key: value
the public key is in the repository
the secret of good bread is time
secret = os.environ["SECRET"]
password = getpass.getpass()
password = config.get("db", "password")
token = request.headers["Authorization"].removeprefix("Bearer ")
const password = process.env.DB_PASSWORD
let apiKey = import.meta.env.VITE_API_KEY
password: ${DB_PASSWORD}
password: {{ vault_db_password }}
DB_PASSWORD=$(pass show db/prod)
DB_PASSWORD=op://infra/db/password
export TOKEN=$(cat ~/.config/token)
export TOKEN="$GITHUB_TOKEN"
curl -u "$USER:$PASS" https://api.example.org
curl -u user:password https://api.example.org
curl -H "Authorization: Bearer $TOKEN" https://api.example.org
curl -H "Authorization: Bearer <token>" https://api.example.org
docker run -u 1000:1000 -p 8080:80 app
ssh -p 2222 anna@badger
mkdir -p /srv/data2/backups
mysql -u root -p app
docker run -p 5432:5432 postgres:16
password: str = Field(min_length=12)
password: Optional[str] = None
def login(user: str, password: str) -> Token: ...
class TokenBucket: ...
password_hash = argon2.hash(password)
if password != expected_password: raise ValueError
password = models.CharField(max_length=128)
token = secrets.token_urlsafe(32)
SECRET_KEY = get_random_secret_key()
<input type="password" name="password" id="password1">
<label for="password">Password</label>
"password": "Passwort",
"password": "Mot de passe",
"password": "Contraseña",
"forgotPassword": "Passwort vergessen?",
"passwordTooShort": "The password needs at least {min} characters",
"invalidToken": "The token is not valid any more",
"apiKey": "API-Schlüssel",
"secret": "Geheimnis",
"token": "Jeton",
password=REPLACE_ME
password=<your password>
password=your_password_here
API_KEY=YOUR_API_KEY
API_KEY=xxxxxxxxxxxxxxxx
api_key: sk-...
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
sk-your-key-here-and-nothing-else
sk_live_xxxxxxxxxxxxxxxxxxxxxxxx
hf_your_token_goes_here
xoxb-your-bot-token
keys begin with sk-ant- or with sk-proj-
GitHub tokens begin with ghp_ and have 40 characters
NVIDIA's begin with nvapi-
AKIA is the prefix of long-lived AWS keys
scikit-learn, sk-image and sk-learn-contrib
task-management-system-for-everyone-2
the r8_ prefix belongs to Replicate
re_match_all_the_things_in_the_file
key-value-store-with-a-rather-long-name
api-gateway-controller-manager-v2
pat.read.write.all
fc-cache -fv
pa-system-for-the-meeting-room-on-floor-three
hf_hub_download and hf_transfer
fw_setenv bootcmd run netboot
prod:happy-animal
s.connect(server.address)
https://example.org:8080/@someone/post
https:\x2f/user@example.org/path
git@github.com:anna/holdfast.git
npm:react@18.2.0
anna@badger:~/src$ make
mailto:anna@example.org
someone@example.org: thanks
https:\x2f/anna:@example.org/
postgres://app@db/app
postgres://app:${DB_PASS}@db/app
postgres://user:password@localhost/app
redis://localhost:6379/0
Cookie: theme=dark; lang=en-GB; consent=accepted
Set-Cookie: theme=dark; Path=/; Max-Age=31536000; SameSite=Lax
set-cookie headers are dropped by the proxy
cookies: necessary, statistics
the session id is in the log line
session=2026-02-01-evening
session_id: s014
Authorization: required for all calls but health
authorization: bearer tokens only
the bearer of this letter
Das Passwort ist abgelaufen.
Das Passwort steht in 1Password.
Das Passwort wird mit argon2id gehasht.
Passwort: siehe Tresor
Passwort ändern
Die Passwortrichtlinie ist streng: 12 Zeichen, 2 Ziffern.
Das Token ist 15 Minuten gültig.
Der API-Schlüssel liegt im Tresor.
Die Losung ist ein Wort, das niemand kennt.
Das Kennwort ist 2FA-geschützt.
Das Passwort ist mindestens 12-stellig.
Le mot de passe est obligatoire.
Le mot de passe est dans le coffre.
mot de passe oublié ?
Le jeton est expiré depuis 3 jours.
La clé API est stockée dans Vault.
La contraseña es obligatoria.
La contraseña está en 1Password.
La clave está en el segundo cajón.
La clave de API caduca en 30 días.
La password è obbligatoria.
La password è scaduta il 3 maggio 2026.
A senha é obrigatória.
A senha expirou ontem.
Het wachtwoord is verlopen.
Het wachtwoord staat in de kluis.
Hasło jest wymagane.
Hasło wygasło po 90 dniach.
Пароль обязателен.
Пароль хранится в 1Password.
пароль: не менее 12 символов
Токен истёк 3 дня назад.
密码是必填项
密码存储在 1Password 中
密码长度至少12位
令牌已过期
パスワードは必須です
パスワードは 1Password に保存されています
トークンの有効期限は15分です
비밀번호는 필수입니다
비밀번호는 12자 이상이어야 합니다
The credentials are in the vault: team/infra.
login: see the wiki, page 12
credentials: none
user/password authentication is off
username and password are both required
The bot token belongs to @holdfast_bot
his token of affection was a ring
She is the keeper of the secret garden.
a secretary: Anna 1234
passenger: Anna, seat 12A
compass: 270 degrees
bypass: the valve at pump 3
PWD=/home/anna/src
pwd: /srv/holdfast
cd $OLDPWD
AWS_REGION=eu-central-1
AWS_ACCESS_KEY_ID is set in the runner
aws_secret_access_key = <from vault>
the AWS secret key is in 1Password
rotate the AWS access key every 90 days
AccountKey=<redacted>
secretName: wildcard-tls-2024
secretKeyRef: {name: db, key: password}
imagePullSecrets: [{name: regcred}]
tokenizer: bert-base-uncased-v2
token: bert-base-uncased
private_key: ~/.ssh/id_ed25519
private_key_file=/etc/ssl/private/site-2026.key
ssh-keygen writes -----BEGIN OPENSSH PUBLIC KEY----- nowhere
the licence key is printed on the box
the unseal keys are with Anna, Ben and Cleo
encryption key rotation is done in q3-2026
cache key: user:42:profile:v3
partition key: tenant_id
sort key = created_at
foreign key (note_id) references notes
the API key field is 64 characters long
key_length: 4096
api_key_id: 7
token 5 of 12 was skipped
token embeddings of 384 dimensions
the password generator makes 20 characters
password manager: 1Password 8
password strength: zxcvbn score 4
secret scanning is on for 12 repositories
set the password to something long
changed the password to one that nobody knows
the new password is longer
the password is the name of the dog
the password is case-sensitive
the password is "required"
Password is too short (minimum is 12 characters)
password authentication failed for user "app2"
FATAL: password authentication failed for user postgres
Permission denied (publickey,password).
sudo: a password is required
Enter passphrase for key '/home/anna/.ssh/id_ed25519':
--password is an option of both commands
use the --token option or the TOKEN variable
--api-key is deprecated since 2.3.1
Access token required
Invalid API key provided
Incorrect API key provided: sk-***
401 Unauthorized: token expired at 2026-02-01T15:10:00Z
JWT has three parts: header.payload.signature
the JWT is signed with ES256
HS256, RS256 and EdDSA are allowed
nonce, salt and pepper are different things
The token bucket refills 10 tokens per second
password must match ^[A-Za-z0-9]{8,}$
Password: 8-64 characters
Password length: 8 to 64
The password field is masked with ******
the password column is VARCHAR(255)
Passwords are rotated every 90d
He asked whether the token is ERC20
the ERC20 token contract is at 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
the secret ingredient is cumin
this secret is called db-credentials-v2
secret: db-credentials-v2
secretName: app-tls-2025-03
secret/data/app/prod
the token is stored in localStorage under auth_token_v2
token is read from $HOME/.config/app/token2
access tokens are valid for 3600s
The API key is passed as X-Api-Key
api key header: X-Api-Key-V2
api-key: required
API key: see 1Password, vault Infra, item datadog-2
"access_token": "string"
"password": "string"
password: string;
password?: string
password: null
password: ""
password=
password:
Password
--password <password>
--password=$PASSWORD
-p $PASSWORD
password: "{{ lookup('env', 'PASSWORD2') }}"
password: "%env(DB_PASSWORD)%"
password = input("Password: ")
password = prompt('Password for user2:')
password = read_secret("db2")
const { password, email2 } = req.body
const token = localStorage.getItem('token2')
token = token2
token = next(tokens1)
token = tokens[i+1]
token: Token2 = parse()
key = keys[0]; value = d2[key]
api_key=api_key2
api_key = self.api_key2
secret=args.secret2
secret = base64.b64decode(data2)
password = hashlib.sha256(b'x1').hexdigest()
auth = (user, password)
auth: { type: oauth2 }
auth: oauth2
authentication: jwt2
Token validation failed: signature2 mismatch
token at position 1234567 is unexpected
Unexpected token < in JSON at position 0
SyntaxError: Unexpected token '}' at line 12
unexpected token "foo2bar"
invalid token 'abc123def'
CSRF token mismatch (419)
csrf_token()
@csrf
password mismatch for user42
passed 12 of 13
passing 3 args
encompass 123456
the passport no. is C01X00T47
compass=north12
Passwortänderung am 3.5.2026
Passwort-Manager: KeePassXC 2.7.9
Passwort vergessen? https://example.org/reset2
Passwort: mindestens 12 Zeichen
Passwort ist falsch
das Passwort lautet anders
Das Passwort liegt bei Anna, Raum 2.14
Le mot de passe doit contenir 8 caractères
mot de passe: 8 caractères minimum
contraseña: mínimo 8 caracteres
La contraseña debe tener 8 caracteres
la clave es la paciencia
la clave: paciencia
пароль должен содержать 8 символов
Пароль неверный, попытка 2 из 3
ключ: значение
ключ к успеху это труд
密码错误3次
密码是什么？
密码：至少8位
密钥管理使用 AWS KMS
パスワードを忘れた場合
パスワード：8文字以上
トークン数は 4096 です
비밀번호: 8자 이상
the login is at https://example.org/login2
login: https://example.org:8443/x
Login: 10:45
login: anna
credentials: see vault/prod2
credentials are in ~/.aws/credentials2
user/pass: see the wiki
user: anna / role: admin2
cookie: a small cake, 2 eggs
cookies: 12:30
set-cookie: lang=en-US; Expires=Wed, 21 Oct 2026 07:28:00 GMT
Cookie: _ga=GA1.2.1234567890.1700000000; lang=de
auth: sha256 is used
Authorization: Bearer
Authorization: Bearer xxx
Authorization header is missing2
authorization: role2-based
curl -u admin http:\x2f/x
curl -u user:pass http:\x2f/x
curl -u admin:$PW http:\x2f/x
docker run -u node:node -p 127.0.0.1:8080:80 img
mysql -p3306 -h db
mysql -P 3307
mysql -h db2.example.org -p
redis-cli -p 6380
psql -p 5433
ssh -p 2222 host1
zip -P
sha256-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZmdoaWo=
integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"
nonce="r4nd0mN0nc3Value12345678"
X-Request-Id: 7f3f1c2e9b1a4d5e8f00112233445566
traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
requestId=9f86d081884c7d659a2feaa0c55ad015
sessionId: 9f86d081884c7d659a2feaa0c55ad015 in the log
session 9f86d081-884c-7d65-9a2f-eaa0c55ad015
key 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 in S3
cache key: 9f86d081884c7d659a2feaa0c55ad015
idempotency key 9f86d081-884c-7d65-9a2f-eaa0c55ad015
primary key 0190f5c2-7b1a-7c3e-9a55-1f2e3d4c5b6a
public key MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7vbqajDhA anna@host
AAAAB3NzaC1yc2EAAAADAQABAAABgQC7
gpg key 3AA5C34371567BD2
key id 0x3AA5C34371567BD2
keyid: 3AA5C34371567BD2
key fingerprint: 9F 86 D0 81
api version 2024-10-01
aws_access_key_id in the env
AWS account 123456789012
the AWS secret is rotated
secret_access_key: !Ref Secret2
service account key rotation: 90d
storage account: stprodweu001
account key: AcctName2
license: MIT
license key: see invoice 2026-114
seed: 42
seed phrase is written on paper
mnemonic: ROY G BIV
bearer of bad news
Bearer of 20 good things and more
pat.example.com
SG.example
SK hynix 32GB
key-0123 is broken
key-value
re_compile_pattern_for_the_tokenizer_module
sk-SK locale
sk_buff_head_init and sk_stream_alloc
hf_space_name_is_long_enough_for_this_test_ok
rw_lock rw_semaphore_with_long_name
api-server-pod-7d9f8b6c5d-x2x4z
app-7d9f8b6c5d-x2x4z
fw_download_manager_state_machine_v2
ntn_example
secret_manager_client_factory_with_long_name_v2_beta
live_stream_manager_with_a_long_name_v2
test_that_the_parser_handles_empty_input_2
test_when_user_is_logged_in_then_token_is_refreshed_v2
dev:dev-container-1
eyJ is the beginning of a JWT
prod:team-2
0/1/2/3
1/2 of the tests
u+00e9
pk_id_12345
pa-11-y-checker
ak-47
as-is
api-docs-and-examples
sdk-for-python-and-go-with-long-name
mob-programming
sl.example.org
s.split(",")[2]
t1.start()
ext_proc_filter_chain
re_abcdefgh
A3-paper
API-FIRST-DESIGN
API-2024-REVISION-OF-THE-SPEC-DOC
st.write("hello2")
AQ.
""".strip().split("\n")

_CODE = (
    "for token in tokens:\n    if token.type == TokenType.NUMBER_2:\n        yield token",
    "SELECT id, password_hash FROM users WHERE api_key_id = $1",
    "UPDATE users SET password = $1 WHERE id = $2",
    'password := os.Getenv("DB_PASSWORD")',
    "var token = await _tokens.GetAsync(userId2);",
    '@Value("${db.password}") private String password;',
    "$password = $_POST['password'];",
    "password = ENV.fetch('DB_PASSWORD')",
    'let secret = std::env::var("SECRET").unwrap();',
    "token: String,\n    secret: Option<String>,",
    "interface Login { user: string; password: string; token?: string }",
    "apiKey: process.env.API_KEY ?? ''",
    "this.password = password; this.token2 = token;",
    "assert response.json()['token'] == token",
    "env:\n  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef:\n        name: db\n        key: password",
    "with:\n  token: ${{ secrets.GITHUB_TOKEN }}",
    "password: !secret wifi_password",
    'variable "db_password" {\n  type      = string\n  sensitive = true\n}',
    "hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(12))",
    "expect(screen.getByLabelText('Password')).toBeInTheDocument()",
    "fields = ['username', 'password', 'email2']",
    "$2b$12$KIXQ4S1Y3y7n0cZb7yq0uO",
    "if (!token) throw new Error('token is missing');",
    "token = jwt.encode(payload, key, algorithm='HS256')",
)


def innocents(seed: int) -> Iterator[Text]:
    """Texts that hold no credential, among them the notes of DevMem."""
    drawn = random.Random(seed)  # noqa: S311 - made-up hashes
    for kind, templates in _MADE.items():
        for template in templates:
            for _ in range(4):
                yield Text(
                    kind,
                    filled(template.replace("{{", "\0").replace("}}", "\1"), drawn)
                    .replace("\0", "{")
                    .replace("\1", "}"),
                )
    yield from (Text("talk", line) for line in _PLAIN)
    yield from (Text("code", text) for text in _CODE)
    if DEVMEM.exists():
        yield from (Text("note", note["content"]) for note in json.loads(DEVMEM.read_text("utf-8"))["notes"])
