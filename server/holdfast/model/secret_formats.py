"""The forms that vendors give their keys and tokens, as a table: what each begins with, and what follows.

Written from the vendors' documentation; which vendors have a form of their own was checked against the rules of
gitleaks (MIT licence, see NOTICE). A row is data: its prefixes are looked for in one pass over the text, its body is
compiled when a prefix of it is seen for the first time.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Final

_ALNUM, _WORD, _URL, _HEX, _BASE64 = "A-Za-z0-9", "A-Za-z0-9_", "A-Za-z0-9_-", "0-9a-fA-F", "A-Za-z0-9+/"
_UUID: Final = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_ENDS: Final = r"(?![A-Za-z0-9])"

RANDOM: Final = 3.0  # bits a character: what words and names rarely have over twenty characters and more


@dataclass(frozen=True, slots=True)
class Format:
    """One form of credential.

    Attributes:
        id: its name in this table.
        label: what stands in the placeholder.
        prefixes: what it begins with, in upper and lower case as the vendor writes it.
        body: a pattern of what follows.
        entropy: the fewest bits a character that the body must have; 0 where the prefix alone says enough.
    """

    id: str
    label: str
    prefixes: tuple[str, ...]
    body: str
    entropy: float = 0.0


def _row(name: str, label: str, prefixes: str, body: str, entropy: float = 0.0) -> Format:
    return Format(name, label, tuple(prefixes.split()), body, entropy)


def _hook(name: str, label: str, places: str, body: str) -> Format:
    """An address that whoever knows it may post to."""
    return Format(
        name, label, tuple(f"{scheme}://{place}" for scheme in ("https", "http") for place in places.split()), body
    )


def _run(alphabet: str, least: int) -> str:
    """A whole run of these characters, at least so many."""
    last = "-" if "_-" in alphabet else ""  # a hyphen is itself only at the end
    return rf"[{alphabet.replace('_-', '_')}{last}]{{{least},}}+"


FORMATS: Final = (
    # --- clouds and hosting
    _row("aws-access-key", "AWS access key id", "AKIA ASIA ABIA ACCA", rf"[A-Z0-9]{{16}}{_ENDS}"),
    _row("aws-bedrock", "AWS Bedrock key", "ABSK", rf"{_run(_BASE64, 100)}=*+"),
    _row("aws-bedrock-short", "AWS Bedrock key", "bedrock-api-key-", rf"{_run(_BASE64, 20)}=*+"),
    _row("alibaba-access-key", "Alibaba Cloud key", "LTAI", rf"[{_ALNUM}]{{12,24}}+{_ENDS}", RANDOM),
    _row("tencent-secret-id", "Tencent Cloud key", "AKID", rf"[{_ALNUM}]{{32}}{_ENDS}", RANDOM),
    _row("google-api-key", "Google key", "AIza", _run(_URL, 35)),
    _row("google-oauth", "Google secret", "GOCSPX- ya29.", _run(_URL + ".", 20)),
    _row("google-refresh-token", "Google secret", "1//0", _run(_URL, 40), RANDOM),
    _row("google-ai-auth", "Google key", "AQ.Ab8RN6", _run(_URL, 30)),
    _row("digitalocean", "DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_ dos_v1_", _run(_ALNUM, 40)),
    _row("heroku", "Heroku key", "HRKU-", _run(_URL, 36)),
    _row("fly", "Fly.io token", "fo1_ fm1a_ fm1r_ fm2_", rf"{_run(_URL + '+/', 40)}=*+", RANDOM),
    _row("vercel", "Vercel token", "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", _run(_URL, 20), RANDOM),
    _row("netlify", "Netlify token", "nfp_ nfo_ nfc_ nfb_ nfu_", _run(_ALNUM, 32), RANDOM),
    _row("cloudflare-origin-ca", "Cloudflare key", "v1.0-", rf"[0-9a-f]{{24}}-{_run('0-9a-f', 100)}"),
    _row("cloudflare", "Cloudflare token", "cfut_ cfat_ cfk_", _run(_URL, 36), RANDOM),
    _row("render", "Render key", "rnd_", _run(_ALNUM, 24), RANDOM),
    _row("scalingo", "Scalingo token", "tk-us- tk-eu-", _run(_URL, 40), RANDOM),
    _row("yandex", "Yandex key", "AQVN t1.", rf"{_run(_URL, 35)}(?:=*+\.{_run(_URL, 40)}=*+)?", RANDOM),
    _row("openshift", "OpenShift token", "sha256~", _run(_URL, 40), RANDOM),
    _row("supabase", "Supabase key", "sbp_ sb_secret_", _run(_URL, 20), RANDOM),
    _row("planetscale", "PlanetScale secret", "pscale_tkn_ pscale_pw_ pscale_oauth_", _run(_URL + "=.", 32)),
    _row("neon", "Neon key", "napi_ npg_", _run(_ALNUM, 10), 2.8),
    _row("databricks", "Databricks token", "dapi dkea dose", rf"[0-9a-f]{{32}}(?:-\d)?{_ENDS}"),
    _row("clickhouse", "ClickHouse key", "4b1d", rf"[{_ALNUM}]{{38}}{_ENDS}", RANDOM),
    _row("xata", "Xata key", "xau_ xaw_", _run(_ALNUM, 24), RANDOM),
    _row("convex", "Convex key", "prod: dev:", r"[a-z]+-[a-z]+-\d+\|" + _run(_BASE64 + "=", 30)),
    _row("upstash", "Upstash token", "qstash_", _run(_ALNUM, 24), RANDOM),
    _row("railway", "Railway token", "rw_Fe26.", _run(_URL + "*.", 40), RANDOM),
    _row("scaleway", "Scaleway key", "SCW", rf"[A-Z0-9]{{17}}{_ENDS}", RANDOM),
    _row("backblaze", "Backblaze key", "K00", rf"\d[A-Za-z0-9+/]{{27}}{_ENDS}", RANDOM),
    # --- code, packages, delivery
    _row("github", "GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", _run(_WORD, 30)),
    _row("gitlab", "GitLab token",
         "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt- glsat-",
         rf"{_run(_URL, 20)}(?>(?:\.[A-Za-z0-9_-]++)*)"),
    _row("gitlab-runner", "GitLab token", "GR1348941", _run(_URL, 20)),
    _row("bitbucket", "Bitbucket token", "ATBB ATCTT3", _run(_URL + "=", 24), RANDOM),
    _row("atlassian", "Atlassian token", "ATATT3 ATSTT3", _run(_URL + "=", 40)),
    _row("npm", "npm token", "npm_", _run(_ALNUM, 36)),
    _row("pypi", "PyPI token", "pypi-", _run(_URL, 50)),
    _row("crates", "crates.io token", "cio", rf"[{_ALNUM}]{{32}}{_ENDS}", RANDOM),
    _row("rubygems", "RubyGems key", "rubygems_", _run(_HEX, 40)),
    _row("nuget", "NuGet key", "oy2", rf"[a-z0-9]{{43}}{_ENDS}", RANDOM),
    _row("clojars", "Clojars token", "CLOJARS_", _run("a-z0-9", 40)),
    _row("docker-hub", "Docker token", "dckr_pat_ dckr_oat_", _run(_URL, 20)),
    _row("jfrog", "Artifactory key", "AKCp cmVmd", rf"[{_ALNUM}]{{59,73}}+{_ENDS}", RANDOM),
    _row("circleci", "CircleCI token", "CCIPAT_ CCIPRJ_", _run(_WORD, 20)),
    _row("buildkite", "Buildkite token", "bkua_ bkct_ bkat_ bkaj_ bkpt_", _run(_ALNUM, 30), RANDOM),
    _row("harness", "Harness token", "pat. sat.", r"[\w-]{20,24}\.[A-Za-z0-9]{22,26}\.[A-Za-z0-9]{18,22}", RANDOM),
    _row("octopus", "Octopus Deploy key", "API-", rf"[A-Z0-9]{{24,32}}+{_ENDS}", RANDOM),
    _row("terraform-cloud", "Terraform Cloud token", "TFE_", _run(_URL + ".", 40), RANDOM),
    _row("pulumi", "Pulumi token", "pul-", rf"[0-9a-f]{{40,}}+{_ENDS}"),
    _row("infracost", "Infracost key", "ico-", rf"[{_ALNUM}]{{32,}}+", RANDOM),
    _row("prefect", "Prefect key", "pnu_ pnb_", _run(_ALNUM, 32), RANDOM),
    _row("sonar", "SonarQube token", "squ_ sqp_ sqa_", _run(_ALNUM, 36), RANDOM),
    _row("snyk", "Snyk token", "snyk_uat. snyk_sat.", _run(_URL + ".", 24), RANDOM),
    _row("semgrep", "Semgrep token", "semgrep_", _run(_ALNUM, 32), RANDOM),
    _row("sourcegraph", "Sourcegraph token", "sgp_ sgd_ sgs_", rf"(?:local_|[0-9a-fA-F]{{16}}_)?{_run(_HEX, 40)}"),
    _row("expo", "Expo token", "expo_", _run(_ALNUM, 32), RANDOM),
    _row("inngest", "Inngest key", "signkey-prod- signkey-test- signkey-branch-", _run(_HEX, 24)),
    _row("launchdarkly", "LaunchDarkly key", "sdk- api- mob-", rf"{_UUID}{_ENDS}"),
    _row("hashicorp-vault", "Vault token", "hvs. hvb. hvr.", _run(_URL, 24)),
    _row("doppler", "Doppler token",
         "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dp.said.", _run(_ALNUM + "._", 32)),
    _row("infisical", "Infisical token", "st.", r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    _row("1password-service", "1Password token", "ops_eyJ", rf"{_run(_BASE64 + '_-', 40)}=*+"),
    _row("1password-key", "1Password secret key",
         "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    _row("age", "age key", "AGE-SECRET-KEY-1 AGE-PLUGIN-", _run("A-Z0-9-", 40)),
    _row("tailscale", "Tailscale key", "tskey-", _run(_URL, 20)),
    _row("ngrok", "ngrok key", "ak_2 cr_2", rf"[{_ALNUM}]{{26,}}+{_ENDS}", RANDOM),
    _row("defined-networking", "Defined Networking key", "dnkey-", _run(_URL + "=", 50)),
    # --- models
    _row("anthropic", "Anthropic key", "sk-ant-", _run(_URL, 16)),
    _row("openrouter", "OpenRouter key", "sk-or-", _run(_URL, 24), RANDOM),
    _row("langfuse", "Langfuse key", "sk-lf-", _run(_URL, 24), RANDOM),
    _row("openai-project", "OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", _run(_URL, 20), RANDOM),
    _row("openai", "OpenAI key", "sk-", r"(?!ant-|or-|lf-)" + _run(_URL, 20), RANDOM),
    _row("nvidia", "NVIDIA key", "nvapi- nvcf-", _run(_URL, 24)),
    _row("groq", "Groq key", "gsk_", _run(_ALNUM, 24), RANDOM),
    _row("xai", "xAI key", "xai-", _run(_ALNUM, 40)),
    _row("perplexity", "Perplexity key", "pplx-", _run(_ALNUM, 32), RANDOM),
    _row("hugging-face", "Hugging Face token", "hf_ api_org_", _run(_ALNUM, 30)),
    _row("replicate", "Replicate token", "r8_", _run(_ALNUM, 30), RANDOM),
    _row("fireworks", "Fireworks key", "fw_", _run(_ALNUM, 20), RANDOM),
    _row("together", "Together key", "tgp_v1_", _run(_URL, 32), RANDOM),
    _row("cerebras", "Cerebras key", "csk-", _run(_ALNUM, 32), RANDOM),
    _row("pinecone", "Pinecone key", "pcsk_ pclocal_", _run(_WORD, 24), RANDOM),
    _row("langsmith", "LangSmith key", "lsv2_pt_ lsv2_sk_ ls__", _run(_WORD, 30), RANDOM),
    _row("voyage", "Voyage key", "pa-", _run(_URL, 36), 3.6),
    _row("jina", "Jina key", "jina_", _run(_URL, 36), RANDOM),
    _row("tavily", "Tavily key", "tvly-", _run(_URL, 20), RANDOM),
    _row("firecrawl", "Firecrawl key", "fc-", rf"[0-9a-f]{{32}}{_ENDS}", 2.8),
    _row("e2b", "E2B key", "e2b_", _run(_HEX, 32)),
    _row("elevenlabs", "ElevenLabs key", "sk_", rf"[0-9a-f]{{40,64}}+{_ENDS}", 2.8),
    _row("runpod", "RunPod key", "rpa_ rps_", _run(_ALNUM, 32), RANDOM),
    _row("wandb", "Weights & Biases key", "wandb_v1_", _run(_WORD, 30), RANDOM),
    _row("mem0", "Mem0 key", "m0-", _run(_ALNUM, 32), RANDOM),
    _row("zep", "Zep key", "z_1d", _run(_URL + ".", 40), RANDOM),
    _row("browserbase", "Browserbase key", "bb_live_ bb_test_", _run(_URL, 20), RANDOM),
    # --- money
    _row("stripe", "Stripe key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_", _run(_BASE64, 16)),
    _row("square", "Square token", "sq0atp- sq0csp- EAAA", _run(_URL, 22), RANDOM),
    _row("braintree", "Braintree token",
         "access_token$production$ access_token$sandbox$", r"[a-z0-9]{16}\$[0-9a-f]{32}"),
    _row("plaid", "Plaid token", "access-sandbox- access-development- access-production-", _UUID),
    _row("razorpay", "Razorpay key", "rzp_live_ rzp_test_", _run(_ALNUM, 14)),
    _row("flutterwave", "Flutterwave key", "FLWSECK_TEST- FLWSECK-", _run(_ALNUM, 12)),
    _row("gocardless-mollie", "GoCardless or Mollie key",
         "live_ test_", rf"(?=[A-Za-z0-9_-]*+\d)[{_URL}]{{30,}}+", 3.4),
    _row("paddle", "Paddle key", "pdl_live_apikey_ pdl_sdbx_apikey_ pdl_ntfset_", _run(_WORD, 20)),
    _row("easypost", "EasyPost key", "EZAK EZTK", rf"[{_ALNUM}]{{54}}", RANDOM),
    _row("duffel", "Duffel token", "duffel_test_ duffel_live_", _run(_URL + "=", 32)),
    _row("shippo", "Shippo token", "shippo_live_ shippo_test_", _run(_HEX, 32)),
    _row("alchemy", "Alchemy key", "alcht_ alcp_", _run(_ALNUM, 24), RANDOM),
    _row("polar", "Polar token", "polar_oat_ polar_pat_ polar_whs_ polar_cs_", _run(_ALNUM, 20)),
    # --- talk and post
    _row("slack", "Slack token",
         "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe- xoxe.xoxp- xoxe.xoxb- xapp- xwfp-",
         rf"(?=[A-Za-z%-]*+\d){_run(_ALNUM + '%-', 10)}"),
    _hook("discord-webhook", "Discord webhook",
         "discord.com/api/webhooks/ discordapp.com/api/webhooks/ canary.discord.com/api/webhooks/",
         rf"\d{{15,22}}+/{_run(_URL, 40)}"),
    _hook("slack-webhook", "Slack webhook",
         "hooks.slack.com/", r"[a-z]{4,12}/[\w/-]{20,}+"),
    _hook("zapier-webhook", "Zapier webhook", "hooks.zapier.com/hooks/catch/", r"\d{4,12}+/[a-z0-9/]{6,}+"),
    _hook("google-chat-webhook", "Google Chat webhook",
         "chat.googleapis.com/v1/spaces/", r"[\w-]{8,}+/messages\?[\w=&%.-]{40,}+"),
    _hook("make-webhook", "Make webhook",
         "hook.eu1.make.com/ hook.eu2.make.com/ hook.us1.make.com/", _run("a-z0-9", 24)),
    _row("sendgrid", "SendGrid key", "SG.", r"[\w-]{16,64}+\.[\w-]{16,}+"),
    _row("twilio", "Twilio key", "SK", rf"[0-9a-f]{{32}}{_ENDS}"),
    _row("mailgun", "Mailgun key", "key-", rf"[0-9a-f]{{32}}{_ENDS}", 2.8),
    _row("brevo", "Brevo key", "xkeysib- xsmtpsib-", _run(_URL, 40)),
    _row("resend", "Resend key", "re_", rf"[{_ALNUM}]{{8}}_[{_ALNUM}]{{20,}}+|(?=[A-Za-z]*+\d)[{_ALNUM}]{{24,}}+", 3.2),
    _row("mailersend", "MailerSend token", "mlsn.", _run(_ALNUM, 40)),
    _row("typeform", "Typeform token", "tfp_", _run(_URL + ".=", 40)),
    # --- work
    _row("notion", "Notion token", "ntn_ secret_", rf"(?=[A-Za-z]*+\d)[{_ALNUM}]{{40,}}+", RANDOM),
    _row("linear", "Linear key", "lin_api_ lin_oauth_ lin_wh_", _run(_ALNUM, 24), RANDOM),
    _row("figma", "Figma token", "figd_ figu_ figo_ figoh_ figor_", _run(_URL, 30), RANDOM),
    _row("airtable", "Airtable token", "pat", rf"[{_ALNUM}]{{14}}\.{_run(_HEX, 48)}"),
    _row("asana", "Asana token",
         "0/ 1/ 2/", rf"(?:\d{{12,20}}+/\d{{12,20}}+:)[0-9a-f]{{32}}|[0-9a-f]{{32}}{_ENDS}", 2.8),
    _row("clickup", "ClickUp token", "pk_", rf"\d{{5,12}}+_[A-Z0-9]{{32}}{_ENDS}"),
    _row("hubspot", "HubSpot token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", _UUID),
    _row("contentful", "Contentful token", "CFPAT-", _run(_URL, 36)),
    _row("dato", "DatoCMS key", "dato_", _run(_ALNUM, 24), RANDOM),
    _row("readme", "ReadMe key", "rdme_", _run(_ALNUM, 40)),
    _row("postman", "Postman key", "PMAK- PMAT-", _run(_URL, 24)),
    _row("frameio", "Frame.io token", "fio-u-", _run(_URL + "=", 40)),
    _row("dropbox", "Dropbox token", "sl. sl.u.", _run(_URL, 60), RANDOM),
    _row("shopify", "Shopify token", "shpat_ shpca_ shppa_ shpss_ shpua_ shprt_ shptka_ atkn_", _run(_ALNUM, 32)),
    _row("calcom", "Cal.com key", "cal_live_ cal_test_", _run(_ALNUM, 24)),
    _row("posthog", "PostHog key", "phx_ phs_ phc_", _run(_ALNUM, 32), RANDOM),
    _row("segment", "Segment token", "sgp_", rf"[{_ALNUM}]{{40,}}+", RANDOM),
    _row("mapbox", "Mapbox token", "sk.eyJ pk.eyJ tk.eyJ", rf"{_run(_URL, 20)}\.{_run(_URL, 16)}"),
    _row("facebook", "Facebook token", "EAA", rf"(?=[A-Za-z]*+\d)[{_ALNUM}]{{80,}}+", RANDOM),
    _row("instagram", "Instagram token", "IGQV IGAA", _run(_URL, 60), RANDOM),
    _row("linkedin", "LinkedIn secret", "WPL_AP1. WPL_AP0.", rf"{_run(_ALNUM, 12)}(?:\.[{_ALNUM}=]{{4,}}+)?=*+"),
    _row("twitter-bearer", "Twitter token",
         "AAAAAAAAAAAAAAAAAAAAA", rf"A{{0,3}}+(?=[A-Za-z]*+[\d%])[{_ALNUM}%]{{60,}}+", 3.6),
    _row("okta-ssws", "Okta token", "SSWS", rf"[ \t]{{1,4}}+{_run(_URL, 20)}"),
    _row("intra42", "42 secret", "s-s4t2ud- s-s4t2af-", _run(_HEX, 40)),
    # --- watching
    _row("sentry", "Sentry token", "sntrys_ sntryu_ sntrya_ sntryi_", rf"{_run(_BASE64 + '_', 40)}=*+"),
    _row("grafana", "Grafana token", "glsa_ glc_", rf"{_run(_BASE64 + '_', 32)}=*+", RANDOM),
    _row("grafana-old", "Grafana token", "eyJrIjoi", rf"{_run(_BASE64, 50)}=*+"),
    _row("new-relic", "New Relic key", "NRAK- NRJS- NRII- NRIQ- NRRA- NRBR-", _run(_URL, 19)),
    _row("new-relic-license", "New Relic key", "eu01xx", rf"{_run('0-9a-f', 30)}(?:FFFFNRAL|NRAL)?"),
    _row("dynatrace", "Dynatrace token",
         "dt0c01. dt0s01. dt0s02. dt0s04. dt0s06. dt0s16.", r"[A-Z0-9]{8,24}+\.[A-Z0-9]{40,}+"),
    _row("pagerduty", "PagerDuty key", "pdus+_0XBPWQQ_ u+", rf"(?=[A-Za-z]*+[\d_-])[{_URL}]{{18,}}+", 3.4),
    _row("honeycomb", "Honeycomb key", "hcaik_ hcaic_ hcalk_ hcamk_ hcxik_ hcxlk_ hcbik_", _run(_ALNUM, 24)),
    _row("logfire", "Logfire token", "pylf_v1_", _run(_WORD, 30)),
    _row("axiom", "Axiom token", "xaat- xapt-", _UUID),
    _row("checkly", "Checkly key", "cu_", rf"[0-9a-f]{{32}}{_ENDS}", 2.8),
    _row("settlemint", "SettleMint token", "sm_aat_ sm_pat_ sm_sat_", _run(_ALNUM, 16)),
    _row("adobe", "Adobe secret", "p8e-", _run(_URL, 30), RANDOM),
    _row("telnyx", "Telnyx key", "KEY01", rf"[0-9A-F]{{30}}_[{_ALNUM}]{{20,}}+"),
    _row("wakatime", "WakaTime key", "waka_", _UUID),
)  # fmt: skip


def _by_prefix() -> dict[str, tuple[Format, ...]]:
    rows: dict[str, tuple[Format, ...]] = {}
    for row in FORMATS:
        for prefix in row.prefixes:
            rows[prefix] = (*rows.get(prefix, ()), row)
    return rows


BY_PREFIX: Final = _by_prefix()


@cache
def body_of(row: Format) -> re.Pattern[str]:
    """The compiled pattern of what follows a prefix."""
    return re.compile(row.body)


def entropy(text: str) -> float:
    """Shannon's bits a character."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values())
