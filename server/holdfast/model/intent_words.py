"""The words of questions that ask for a list, for what is known of the user, or for a person, folded as words are.

English, German, French and Spanish, and of other languages what is short.
"""

from __future__ import annotations

import re

from holdfast.model.words import folded


def _words(text: str) -> frozenset[str]:
    return frozenset(folded(text).split())


def _pattern(text: str) -> re.Pattern[str]:
    """Only what is not ASCII needs folding; the signs of patterns must stay as they are."""
    return re.compile(re.sub(r"[^\x00-\x7f]+", lambda run: folded(run.group()), text))


# --- lists ----------------------------------------------------------------------------------------

ANY, DUE = "any", "due"

NOUNS: dict[str, str] = {
    folded(word): kind
    for kind, words in {
        "decision": "decision decisions decided entscheidung entscheidungen entschieden beschlossen beschluss "
        "beschlüsse "
        ""
        "décision décisions décidé decisión decisiones decidimos decidido decisione decisioni deciso decisão decisões "
        "beslissing beslissingen besloten",
        "preference": "preference preferences präferenz präferenzen vorlieben préférence préférences preferencia "
        "preferencias preferenze preferências voorkeuren",
        "goal": "goal goals objective objectives ziel ziele objectif objectifs objetivo objetivos obiettivi doelen",
        "event": "event events ereignis ereignisse événement événements evento eventos eventi",
        "procedure": "procedure procedures runbook runbooks howto howtos how-tos anleitung anleitungen procédure "
        "procédures procedimiento procedimientos",
        "fact": "fact facts fakt fakten hechos",
        "person": "person persons people personen leute personnes gens personas persone pessoas",
        "project": "project projects projekt projekte projet projets proyecto proyectos progetti projetos projecten",
        "concept": "concept concepts konzept konzepte conceptos",
        "observation": "observation observations beobachtung beobachtungen observación observaciones",
        "experience": "experience experiences erfahrung erfahrungen expérience expériences experiencia experiencias",
        "belief": "belief beliefs überzeugung überzeugungen croyances creencias",
        ANY: "note notes memory memories entry entries thing things everything notiz notizen einträge "
        "erinnerungen alles "
        "souvenirs tout nota notas recuerdos todo",
        DUE: "deadline deadlines milestone milestones appointment appointments frist fristen termin termine "
        "meilensteine "
        "échéance échéances rendez-vous plazo plazos vencimiento vencimientos citas hitos scadenze prazos",
    }.items()
    for word in words.split()
}
DUE_WORDS = frozenset(word for word, kind in NOUNS.items() if kind == DUE) | _words(
    "due upcoming forthcoming coming planned scheduled fällig geplant ansteht anstehend anstehende anstehenden "
    "prévu prévue prévus prévues previsto prevista previstos previstas planeado planeada planificado "
    "pendiente pendientes"
)
LATEST = _words(
    "recent latest newest last recently lately letzte letzten letzter letztes neueste neuesten neueste "
    "jüngste jüngsten "
    "aktuellste aktuellsten dernier dernière derniers dernières récent récente récents récentes último última últimos "
    "últimas reciente recientes recentes ultime ultimi laatste recente"
)
LISTING = _words(
    "list lists enumerate browse show all every any our my current active open liste auflisten zeige zeig alle unsere "
    "unser meine gibt lister liste affiche montre tous toutes nos mes muestra lista listar enumera todas "
    "todos nuestras "
    "nuestros hay mostra tutte tutti todas toon"
)
ASKING = _words(
    "what which where who did have has were was are welche welcher welches was haben wurde wurden quelles quels quel "
    "quelle avons qué cuáles cuál hemos quali quais welke"
)
HAPPENED = _words("new news happened changed neues neu passiert nouveau nouvelles nuevo nuevas novedades")
DID = _words("did have has")
DECIDE = _words("decide agree")
ABOUT = _words("about regarding concerning on über zu bezüglich concernant sobre acerca su")
FILLING = _words(
    "me us please there there's s d m re ve tell give far yet ever made make take took taken set reached agreed agree "
    "decide stored kept known relevant most more of from to in for by sorted ordered date time order newest first "
    "oldest next coming up space project projects repo repository page happening going calendar agenda schedule "
    "uns mir bitte haben hatten wir was welche welcher welches die der das den dem des sind ist es gab "
    "von in im aus für "
    "und zu getroffen gespeichert sortiert nach datum steht stehen an auf vom "
    "nous avons on a les le la l des de du d dans pour qui que qu quels quelles quel quelle est sont été ont prises "
    "prise pris notre par date il y moi "
    "hemos los las el del en para que qué cuáles cuál son es fue fueron tomadas tomado tomamos por fecha nos muéstrame "
    "dame un una hay nuestro "
    "le gli dei delle che quali abbiamo os as dos das que quais de het een we welke zijn"
)
HERE = _pattern(
    r"\b(?:(?:in|for|of|on|from|within|im|für|von|dans|pour|en|de|para|del) )?(?:this|the current|diesem|dieses|diesen|"
    r"ce|cet|este|esta|questo|dit) (?:project|repo(?:sitory)?|space|codebase|workspace|projekt|repository|raum|projet|"
    r"dépôt|espace|proyecto|repositorio|espacio|progetto|projeto)\b|(?<= )here(?=\W*$)"
)
EVERYWHERE = _pattern(
    r"\b(?:in|across|over|from|of|for|aus|von|dans|en|de) (?:all|any|every|allen|tous|"
    r"todos)(?: of)?(?: the| my| our| les|"
    r" los| mes| mis)? (?:projects?|spaces?|repos?|repositories|projekten?|projets?|proyectos?|espaces|espacios)\b|"
    r"\b(?:everywhere|anywhere|überall|partout|en todas partes)\b"
)
LATELY = _pattern(
    r"(?:of )?late(?:ly)?|(?:most )?recently|neulich|kürzlich|vor kurzem|in letzter zeit|récemment|dernièrement|"
    r"recientemente|últimamente|recentemente|onlangs"
)

# --- the user -------------------------------------------------------------------------------------

_ME = r"(?:me|myself|the user|user|this user|mich|mir|den (?:be)?nutzer|moi|l'utilisateur|mí|el usuario|mij|min|mim)"
KNOWING = _words(
    "what do you does it we i know known knows remember have has had learn learned learnt store stored "
    "stores note noted "
    "notes saved about of on everything anything something all any facts things information info memory memories tell "
    "show list give me so far already actually please can could is are was 's s the a an which how recall hi hey hello "
    "ok and there from would like to for current describe explain summarize summarise remind look up find get my mine "
    "was weißt wisst du ihr über von alles noch bitte kannst kennst zeig zeige mir erinnerst dich habt "
    "hast gespeichert "
    "sind ist lauten welche wie die der das und gemerkt "
    "que qu est ce sais savez tu vous sur de moi tout te souviens rappelle connais as retenu dis quelles quels quelle "
    "quel sont est les le la "
    "qué sabes sabe recuerdas recuerda sobre acerca todo lo tienes guardado cuáles cuál son es dime muestra "
    "cosa sai di ricordi tutto quali sono sabe você sobre o e wat weet je over zijn"
)
ABOUT_ME = _pattern(
    rf"\b(?:about|on|of|über|von|an|sur|de|sobre|acerca de|di|over) {_ME}(?= |$)|"
    rf"\b(?:know|remember|kennst du|connais|conoces|erinnerst du dich an) (?:me|mich|moi)(?= |$)|"
    r"\b(?:me connais|te souviens de moi|me conoces|te acuerdas de mí)(?=-| |$)"
)
WHO_AM_I = tuple(
    _pattern(text)
    for text in (
        r"^(?:\w+ ){0,3}who (?:am i|i am)(?: again)?$",
        r"^who is (?:the |this |my )?(?:user|human|owner)$",
        r"^(?:\w+ ){0,3}wer (?:bin ich|ich bin)$",
        r"^(?:\w+ ){0,3}qui (?:suis[- ]je|je suis)$",
        r"^(?:\w+ ){0,3}quién soy(?: yo)?$",
        r"^chi sono(?: io)?$|^quem (?:sou eu|eu sou)$|^wie ben ik$|^кто я$|^kim jestem$",
        r"^(?:my|user|the user's) (?:user )?profile$",
        r"^(?:我是[谁誰]|你(?:知道|记得|了解)(?:关于)?我(?:的)?(?:什么|多少|哪些)?|关于我|我的(?:偏好|喜好|习惯)(?:是什么|有哪些)?)$",
        r"^(?:私は誰(?:ですか)?|私について.*|私の好みは?.*|나는 누구.*|저는 누구.*|(?:나|저)에 대해.*)$",
        r"^что ты (?:знаешь|помнишь) обо мне$|^(?:каковы )?мои предпочтения$",  # noqa: RUF001 - Russian
    )
)
I_PREFER = _pattern(
    r"(?:what|how|which (?P<topic>[\w -]{1,40}?)) (?:do|would|does) (?:i|the user|user) (?:usually |generally )?"
    r"(?:prefer|like|want|love|hate|dislike|favou?r)(?: (?:to work|things|it|my \w+|to \w+|done|most|best|best))*|"
    r"was (?:mag|bevorzuge|will) ich(?: \w+)?|wie (?:mag|hätte|will) ich (?:es|das|meinen? \w+)(?: gern)?|"
    r"qu'?est[- ]ce que (?:j'aime|je préfère|je veux)|que préféré[- ]je|quels sont mes goûts|"
    r"(?:qué|cómo) (?:prefiero|me gusta)(?: \w+)?|cosa (?:preferisco|mi piace)|o que (?:eu )?prefiro"
)
MINE = _pattern(
    r"(?:^| )(?:my|the user's|users?'s?|the user|user|meine?[rnms]?|mon|ma|mes|mi|mis|mio|mia|mie|miei|"
    r"as minhas|minhas|"
    r"meus|mijn) (?:own |personal |general |usual |eigenen? |propres )?"
)
OWN = _pattern(
    r"preferences?|conventions?|habits?|likes|dislikes|tastes?|favou?rites?|guidelines?|interests|hobbies|"
    r"\w*(?:vorlieben|präferenzen|gewohnheiten|konventionen|richtlinien|interessen)|"
    r"préférences?|habitudes|goûts|"
    r"preferencias?|convenciones|hábitos|costumbres|gustos|intereses|"
    r"preferenze|convenzioni|abitudini|gusti|preferências|convenções|gostos|voorkeuren|conventies|gewoontes?"
)
ALSO_OWN = _pattern(
    r"styles?|rules?|standards?|settings|setup|environment|workflows?|practices|instructions|opinions|values|skills|"
    r"tools?|tooling|stack|editor|shell|name|role|job|title|profession|employer|company|background|timezone|time zone|"
    r"language|languages|profile|identity|birthday|location|pronouns|"
    r"\w*(?:stil|regeln|einstellungen|arbeitsweise)|rolle|beruf|zeitzone|sprache|nom|rôle|métier|règles|profil|langue|"
    r"fuseau|estilo|reglas|nombre|rol|trabajo|perfil|idioma|horaria|stile|regole|nome|ruolo|regras|stijl|naam"
)
OF_WORK = _pattern(
    r"coding|code|codes|programming|development|dev|work|working|writing|personal|own|general|formatting|"
    r"naming|testing|"
    r"tests?|reviews?|commits?|git|communication|editors?|editing|design|language|documentation|docs|logging|"
    r"favou?rite|preferred|usual|default|full|first|last|job|time|python|rust|go|java|javascript|typescript|sql|"
    r"lieblings\w*|bevorzugte[nrs]?|preferid[oa]|favorit[oa]|préférée?|zona"
)
OF_WHAT = _pattern(
    r"|(?:for|of|in|on|at|when|about|regarding|für|bei|beim|zu|de|d|en|pour|sobre|para|del|di|per|"
    r"voor)(?: [\w+#.'-]+){1,4}"
)

# --- persons --------------------------------------------------------------------------------------

WHO_IS = _pattern(
    r"(?:who(?:'s| is| was)|(?:tell me|what do (?:you|we) know|what is known|anything|everything) (?:more )?about|"
    r"wer (?:ist|war)|was (?:weißt du|wissen wir) über|erzähl mir von|"
    r"qui (?:est|était)|que (?:sais-tu|savons-nous|sait-on) (?:de|sur)|parle-moi de|"
    r"quién (?:es|era)|qué (?:sabes|sabemos) (?:de|sobre)|háblame de|chi (?:è|era)|quem (?:é|era)|wie is|кто такой|"
    r"кто такая) (?P<name>[^?!,;:]+?)[?!. ]*$"
)
NO_NAME = _words(
    "the a an this that user project repo responsible owner owning team lead in on at for of to new our "
    "der die das le la "
    "el los les un une una it everything anything allowed using working able"
)
