"""Words by which a text says that something is no longer as it was, and words that tell siblings apart.

In the languages that most notes are in, without accents, as words are compared. What is in scripts without spaces is
looked for as a part of the text.
"""

from __future__ import annotations

CHANGE_WORDS = frozenset(
    """
    now nowadays anymore currently instead formerly previously henceforth meanwhile updated update correction corrected
    moved moves changed changes switched raised lowered increased decreased reduced extended shortened renamed
    replaced replaces upgraded downgraded bumped migrated postponed delayed rescheduled slipped pushed promoted
    dropped cut doubled halved tripled resized reversed took became becomes went gone since again left retired removed
    abolished phased sold longer new newer anew lately recently
    jetzt nun neuerdings inzwischen mittlerweile kunftig seit statt anstatt anstelle verschoben geandert gewechselt
    umgestellt erhoht gesenkt verlangert verkurzt ersetzt umbenannt abgelost ubernommen umgezogen neu neue neuer neuen
    neues wieder
    desormais maintenant dorenavant change modifie deplace reporte repousse remplace augmente baisse reduit passe
    nouveau nouvelle
    ahora ya cambio cambiado paso movio aplazo aplazado pospuesto reemplazo reemplazado subio bajo aumento redujo nuevo
    nueva
    ora adesso cambiato spostato rinviato sostituito aumentato diventato ridotto nuovo nuova
    agora mudou adiado substituido aumentou novo nova
    nu voortaan verplaatst gewijzigd vervangen verhoogd verlaagd nieuwe
    теперь сейчас отныне больше перенес перенесен перенесли изменен изменили заменен заменили вместо новый новая новое
    тепер зараз замість
    teraz obecnie zmieniono zmieniony przeniesiono zamiast nowy nowa
    artik simdi degisti degistirildi tasindi ertelendi yeni
    अब बदल बदला बदली नया नई
    الان اصبح تغير بدلا
    עכשיו השתנה במקום
    """.split()  # noqa: SIM905 - a list of words reads better as one text
)
CHANGE_PARTS = (
    "现在", "改为", "改成", "换成", "变成", "变更", "不再", "调整", "更新为", "推迟", "已经", "升级", "改到", "提高到",
    "現在は", "変更", "になりました", "に変わ", "延期", "ではなく", "切り替え", "移行", "引き上げ", "引き下げ", "今は",
    "이제", "변경", "바뀌", "바뀐", "더 이상", "대신", "연기", "옮겼", "지금은",
)  # fmt: skip

NEGATIONS = frozenset(
    """not no never none without disabled off cannot dont doesnt isnt arent wont nicht kein keine keinen nie niemals
    ohne pas jamais sans aucun aucune nunca sin ningun ninguna non mai senza nao sem niet geen nooit не нет никогда без
    nie nigdy degil yok नहीं लא לא""".split()  # noqa: SIM905
)

# Of each line one word names another thing than the next does: the test server and the live one.
AXES = (
    "staging stage production prod produktiv live dev development test testing preview qa sandbox localhost canary uat",
    "ios android windows macos mac linux ubuntu debian web desktop mobile",
    "frontend backend",
    "client server",
    "eu us usa uk apac emea europe america asia east west north south",
    "read write reads writes",
    "inbound outbound incoming outgoing",
    "upload download uploads downloads",
    "internal external",
    "public private",
    "primary secondary replica standby",
    "free paid basic pro team enterprise premium starter plus business",
    "admin user guest",
    "hourly nightly daily weekly monthly quarterly yearly annual",
    "left right",
    "summer winter spring autumn",
    "morning evening noon",
    "min max minimum maximum",
    "unit integration load smoke",
    "home office work",
)  # fmt: skip
AXIS_OF = {word: place for place, words in enumerate(AXES) for word in words.split()}

# What a number stands behind that names one of many, as in "sprint 12", and no value of a thing.
NUMBERED = frozenset(
    """step phase part week sprint chapter lesson ticket issue bug incident invoice order room node host shard rack
    line level round iteration milestone quarter question task item case customer section page q kw nr no pr epic story
    schritt teil woche kapitel rechnung auftrag raum etape semaine paso semana fase passo batch branch tag
    size build run job release number numero nummer num""".split()  # noqa: SIM905
)

# Words that belong to nothing in particular: what shares only these does not speak of the same.
GENERIC = frozenset(
    """decision decided decide decides choose chose chosen use uses used using run runs running ran written write
    writes set sets setting keep keeps kept like likes prefer prefers want wants user users people please always
    must may can will need needs work works live lives go goes do does done make makes take takes have has get gets
    our my your their the thing things note notes info called name named about because since so per each every all
    any only own new old day days week weeks month months year years hour hours minute minutes second seconds time
    number value main""".split()  # noqa: SIM905
)

# Words of the part of a sentence that says something of its subject.
VERBS = frozenset(
    """is are was were be been has have had may can will must should shall do does did
    ist sind war waren hat haben wird werden wurde betragt kostet liegt wohnt muss kann soll
    est sont etait a ont coute sera doit
    es son era esta estan tiene cuesta trabaja vive
    e ha sono costa deve
    kosten heeft zijn
    runs uses lives costs listens expires starts ends begins takes leads owns runs works serves""".split()  # noqa: SIM905
)

# As in "Anna leads the team": of these there is one, so that another who does it has taken over.
ROLES = frozenset(
    """lead leads head heads own owns maintain maintains manage manages handle handles responsible charge contact
    our my primary default main favourite favorite only sole official standard chosen
    leitet verantwortlich zustandig unser unsere mein meine
    responsable dirige notre mon ma nuestro nuestra mi""".split()  # noqa: SIM905
)
# What began with these took place and was over: a line of a log, a meeting.
HAPPENINGS = frozenset(
    """meeting sync standup retro retrospective call minutes besprechung reunion deployed fixed finished completed met
    discussed talked shipped ran merged restarted restored lunch dinner met read watched visited incident measured
    closed resolved investigated standup""".split()  # noqa: SIM905
)
# What follows tells why, and is no part of the statement.
WHY = ("because", "so that", "due to", "as long as", "weil", "damit", "denn", "parce que", "porque", "perche", "потому")
