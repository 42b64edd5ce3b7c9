"""How many tokens a text costs a model at most, without a tokenizer.

Written for tokenizers of the kind of o200k and cl100k, which cut a text into words, groups of three digits, signs and
white space and then join frequent bytes. The figure lies above the real count of any text of some length, whatever its
script, and within about a third of it for English and for code; `tests/property/test_tokens.py` measures both.

The pieces below are known to be one token of both, alone or behind a space.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate, takewhile
from math import ceil
from typing import Final

from holdfast.model.words import regex

PIECES: Final = frozenset(  # a list of words reads better as one text
    """
    ability able about above absolutely accept acceptance accepted access accident accomplish according account
    achievement acknowledged acquire across act action actions active activities activity actually add added
    addition additional address addresses ade admin administr adopted adoption adorable advance advanced advantage
    adventure adventures advice affect affected affinity after afternoon afterwards again against age agent agents
    ago agree agreed agreement ahead air airflow ake album ale algorithm alias all allow allowed ally almost alone
    along already also alternative although always ama amazing america american among ana ance and anew ange ani
    animals annotations announced another answer answered answering answers ant any anyone anything anywhere apart
    apartment api app appearance appeared apped append application applications applied apply appointed appointment
    appreciate appreciated approach approval approved april ara arch architecture archival ard are area args
    argument arguments ari arm around arr arrival arrive arrived art article artist ary ask asked asking asks
    assigned assist assistance assistant association ast async ate ated ating ation ational ations ative atmosphere
    ator att attack attempt attend attended attending attention audience audit august australia auth authentic
    authenticate author auto automatic available ave average await award awareness away awesome back background
    backup backups bad balance ball ban band bar bare base based baseline basketball batch batches battle beach
    bearer beautiful beauty became because become becoming bed been before began begin beginning begins behind being
    bel belief beliefs believe believed believing belongs below ben bench benefit ber beside besides best bet better
    between beyond big bit bits black blank blast ble block board bodies body bond book books bool boost born both
    bought bound box bra bre break breaking breath bridge bright bring bringing brings british bro broadcast broken
    brother brought bucket budget build building buildings built builtin bullet bus business busy but bytes cache
    cal california call callable called caller calls calming came camp campaign camping can canada canadian cancel
    candidate candidates cannot canonical capabilities capital capsule capture captured car card care career careful
    case cast castle catch cate cation cause causes celebrate cent center central century certain certificate cha
    chain challenge challenges challenging championship chance change changed changes changing channel chapter char
    character characters charge charity chart chat che check checked checkpoint checksum cheer cheers cherish ches
    children chill cho choice chosen christian church cing city cla class classes clause cle clean clear cli client
    clients clock close closed closer closing cloud club cluster coach coast code coding col coll collaborate
    collect collection collections college colo color colors com combination combining come comes comfort
    comfortable coming comm command commands comment comments commercial commission commit commitment committed
    committee common communicate communities community comp companies company compared compassion compete
    competition competitions compile complete completed completely completion component computer computing conc
    concern concert condition conf conference confidence config confirm confirmation confirmed conflict cong
    congress connect connected connecting connection connections cons consensus conservative consider considered
    considering consist consistent console consolidate consolidated constant constitution construction consumer
    contact container contains contemporary content context contin continue continued contract contradict contribute
    control conv convention conversation cookies cooking cool cor core cores corner corporation cost could couldn
    council counseling count counted counter countries country counts county couple courage course court cover
    coverage crazy create created creating creative creativity credentials critic cross cur current currently cursor
    cut daily damaged dan dance dark dat data database date datetime daughter day days deadline deal dealing death
    dec december decided decimal decision decisions decode dedicated dedication deep def default definitely
    definitions degree del deleted deliver den denied department deploy der derived des described description
    deserve design designed despite detail details determined dev develop developed developers development dia dict
    did didn die differ difference differences different differing differs difficult digest dimension dimensions
    direct directed direction directly director dis discard disconnect discovered discovering disk display dist
    distance district division doctor document documents does doing don done door double doubt down dra drawing
    dream dreams drive drop dropped due duplicate during each ear earlier early east eastern easy eat eating
    economic edge edges edition editor education educational effect effective effort eight ein either election
    electric electronic eli ell else elsewhere embedding emotional emotions emp empowering empty enable encode
    encoded encoder encoding encourage encouraging end ended ending endorsements endpoint ends energy engine
    engineer engineering english enjoy enjoying enough ens ent enter enthusiasm entries entry enumerate environ
    environment episode era error errors ers ert escape especially essential est establish established european eva
    even evening event events eventually ever every everyone everything everywhere evidence exactly example exc
    exceeded except exception exceptions exchange excited exciting executive exercise exercises exhibition exist exp
    expected experience experiences experiment expires explain explicit explore exploring exponent export express
    expressing expression extra eyes face fact factory failed failure fall false families family fan fantasy far
    fast father favorite favorites features feedback feel feeling feelings feels felt female festival few field
    fields fight fighting figure file files filled film filter final finally finance financial find finding fingers
    finished fire first five float flowers flush focus focused focusing folded folder follow followed following
    follows food football for force forces foreign forest forget forgettable forgetting forgotten form format formed
    former forms fort forward forwarded found foundation founded four fourth framework fran france fre free freedom
    french fresh friday friend friends friendship from front frozen frustrating ful fulfilling full fun function
    functools further future game games gaming gate gateway gave gen general ger german get getting ging give given
    gives giving glad global goal goals goes going gone gonna good google gorgeous got government governor gra grand
    graph graphics grateful great green ground group groups growing growth guard guards gue guess guitar had half
    han hand handle hands hang happen happened happening happiness happy har hard has hash hashes have haven having
    hea head header headers heading headings health healthier healthy hear heard hearing heart hel held help helped
    helpful helping helps her here hey high higher hiking him himself his historical history hit hold holder holding
    holds home homeless hone hook hope hopefully hor horse hospital host hour hours house how however http https
    human ial ian iation ibility ible ical idea ideas identified identifier identifiers identity idle ids ier ies
    ification ified ile ill image imagine immediately immersive impact implement import importance important
    imported impressive improve improvement improvements improving ination inc incident include included includes
    including increased incredible independent index indexed indian individual individuals industry ine inf
    influence info information ing init initial initialize initially initiative inner inside inspector inspiration
    inspire inspired inspiring install instant instead institute institution instructor instrument instruments
    insufficient int inte integrity intense intent inter interest interested interesting intern internal into
    introduced inv invalid invest involved ion ions ious ire ise ised ish isinstance island issuer issues ist item
    items iterable iterator itertools ities its itself ity ive ization ized izing james japanese job jobs john join
    joined journal journey joy json judged judgement just ked keep keeping keeps kept key keyboard keys kids killed
    kind kindness kinds king know knowing knowledge known knows label labels lake lambda lan land lands language
    languages lar large last lat late lated lately later latest laugh launch lead leadership leading league learn
    learned learning least leave leaves leaving led left leg len length les less let lette letter letters letting
    level library life lifespan light like likeness limit limited lin line lines ling link linked links list listed
    listen listener listening lists literal literature little live lives living load loads local located location
    lock log logged logger logs london long longer longest look looked looking looks lost lot lots love loved loving
    lower lowered lucky machine made magazine magical mail main maintain maintenance major majority make makes
    making mal man managed management manager many mapped mapping mar march mari mark markdown marked market marks
    marriage married mas master match matches mate material math matter matters max may maybe mean meaning
    meaningful means meanwhile measure med media meet meeting mel member members memories memory men ment mental
    mention mentioned mentor mentoring ments mer merchant merchants merge merged merges message messages met meta
    metadata method methods michael middle middleware midnight might migration mil milestone military million
    milliseconds min mind mine ming mini minister minute minutes miss missed missing mission model modern modified
    moment moments mon monday money month months mor more morning most mostly mother motivate motivated motivating
    motivation mountain mountains move moved movement moves movie movies moving much municipality museum music must
    myself name named names namespace national natural nature near nearby necessary ned need needed needs
    neighborhood neighbour neighbours ner ness network networking never new news next nic nice night ning nobody
    node none noqa nor normal normalize north northern not note notes nothing notice noticed notices novel november
    now number numbers object ock off offer offered office officer official offset often old older oli oline
    ological omi once one ones online only ood open opened opening opera operation operations opponent opportunity
    opposite option options order ordered ordinary organization organized organizing origin original originally
    originals origins ors other others otherwise our ourselves ous out outcome outcomes outdated output outside over
    overall overwhelmed overwhelming own owner owners pace package packages page pages painting paintings pair pairs
    paper para parameters parents park parliament parse parser part partial participated particular particularly
    partition partner parts party pass passed passing passion passionate passions password past pat path paths
    pattern payment payments peace peaceful ped pending people per percent perfect perform performance performed
    perhaps period perseverance person personal phone photo photograph photos phrase physical pic picked picture
    pictures pin ping place placed places plain plan planned planning plans platform play played player players
    playing ple plus point points pol policy political politics popular population port portal ports position
    positive positivity possible post potential pottery power powerful practice pre preference prefix prefixes pres
    present president press pressure pretty prevent previous previously pri prince principal print prior private pro
    probability probably problem problems process processor processors produced producer product production
    professional professor program programme programming programs progress project projection projects prom promise
    promotion property proposal proposals protect protected protection protocol proud provide provider province
    proxy public publication publish published pulled purpose push pushing put putting python qua quality quarantine
    quarter que query question questions qui quickly quite quote rac race railway rain raise raised raises ran
    random range rank ranked ranking rare rat rate rated rates rather ration reach reached reaching read reader
    reading reads ready real reality realize really reason reasons rec recall recalled recalls receive received
    recent recently recipes recommend record recorded recording records red reference reflect refresh refreshing
    refusal refuse refused regarding region register regular rejected rel related relation relationship relative
    relax release released relevance religious remained remember remembered remind reminded reminder reminding
    reminds remote remove removed ren render repeat replace replaced replay report reported reports repository
    represent represented representing request requests required requirements res research residents resilience
    resolve resource resources respect response rest restaurant restore result results ret retention retired
    retirement return returned returns reve reverse reversed review revolution rewarding ric ride ries right rights
    ring ris rit river road rock roll rolling roman ron room rough round route routine row rows rule run running
    runs russian safe said sal sam same san sat satisfying say says scale scan schedule schema scheme school schools
    science scope scopes score scr screen script search season seat second seconds secret secrets section sections
    security sed see seed seeing seen select self sen send sense sent sentence separate september sequence ser
    series serious serve served server servers service services serving session sessions set sets setting settings
    settle settled settlement seven several sha shape share shared shares sharing she shelter shi shift ship short
    shot should shoulder show showed showing shown shows siblings side sign signal signals signature signed
    significant similar similarity simple since sing single sister sit site situation size skills sleep slices slots
    slow small smaller smile social society socket sol some somebody someone something sometimes somewhere son soon
    sorry sorted sound sounds source sources south southern spa space spaces span spanish spans speaker speaking
    special species specific spect spending spent spi split spoken sports spot spread spreading spring square sta
    stability stack stage stages stand standard standing stands star start started starting starts startswith stat
    state states station statistics status stay staying stays stdio ste step steps ster still sto stone stop stopped
    storage store stored stories story storytelling str straight strange strategies strategy stream street strength
    stress strict string strip strong struct structure structured struggle struggles struggling students studies
    studio studying stuff stunning style sub subject subjects subsequently succeed success successful successor such
    suggest suggestion suggestions summer sunday sunset super support supported supporting supportive supports sur
    sure surprise surrounded surrounding surroundings sweet swimming switch symbol system systems table tags take
    taken takes taking talent talk talked talking tan target task teach team teammates techniques technology ted
    television tell telling tells temp temperature ten tenants tend ter term terms test tests text texts than thank
    thankful thanks that the their them themselves then there these they thing things think thinking third this
    those though thought thoughts thousand thr thread threads three through throughout tic ticket tier tim time
    timedelta times timestamp ting tion title titles tle today together token tokens told tomorrow ton tonight too
    took tools top topology tor total totally touch touched tough tournament towards town tra track traditional
    trail train training trans transfer transform transgender transition transport trash travel traveling tre treat
    tree tri tried trip trouble true truly trust trusted try trying tte tuple tur turn turned turns twice two type
    types typing ual uary ude ulation ult unchanged under understand understood undo undone une unexpected
    unfortunate uni unicode union unit united units university unknown unless uns until update updated upgrade
    upkeep ure use used user users uses using ust usually val valid value values van var variable various vation
    vault vector vectors ver verb verdict version versions very veterans video view village virtual vis visit
    visited visiting voice void volunteer volunteered volunteering wait waiting waits walk walking wall want wanted
    war ward warning was washington watch watched watching water way ways webhook wedding week weekday weekend weeks
    weight weights welcome well went were west western what whatever when whenever where whether which while whisper
    white who whoever whole whose why wide wild will win wind window windows winner winning winter wish with within
    without witness woman women wonder wonderful word words work worked working works world worries worth would wow
    write writer writes writing written wrong wrote yeah year yearly years yesterday yield ying you young younger
    your yourself zone
    """.split()  # noqa: SIM905
)

SIGNS: Final = frozenset(  # as above
    """
    !! !" !( != "" "# "$ "% "& "' "( ") "* "+ ", "- ". "/ ": "; "< "> "? "[ "\\ "] "_ "` "{ "| "} #" ## #: #[ #{ $$
    $( $. $\\ $_ ${ %" %% %( %- %. %= %@ &# && &( &) &, &_ '" '# '$ '% '' '( ') '* '+ ', '- '. '/ ': '; '< '= '> '?
    '[ '\\ '] '^ '_ '{ '} (! (" (# ($ (% (& (' (( () (* (+ (- (. (/ (: (; (< (? (@ ([ (\\ (^ (_ (` ({ (~ )( )) ), ).
    ): ); )[ ){ *( *) ** *, *. */ *= *> *@ *_ +" +' +( ++ +- += ," ,' ,, ,- ,[ -( -* -, -- -. -= -> ." .$ .' .* ..
    ./ .= /( /* /. // /= /> /\\ /^ :" :' :( :) :, :- :: := :] ;) ;- ;; <! <$ <- </ << <= <> <? =" =$ =& =' =( == =>
    =[ ={ >& >( >/ >< >= >> ?, ?. ?: ?> ?? @" @$ @( @@ @[ [" [$ [% [' [( [, [- [/ [: [[ [] [_ [` [{ \\" \\$ \\' \\( \\/
    \\< \\\\ ]) ], ]. ]; ][ ]] ^^ _$ _( _) _, _. _: __ `. `` {" {$ {% {' {- {: {@ {\\ {{ {| {} |- |\\ || }) }, }. }: };
    }> }\\ }] }} ~/ ~= ~~ !!! !== ""\" "", "${ "', ")) "), "). "); ")[ "+" "," "-- "." ".$ ".. "./ ":" "</ "<< "<? ###
    $(" $(' ''' '', ''. '). ')[ ',' '.$ ':' '</ (!$ (!( (!_ ("% ("\\ ($( ($_ (${ ('$ (($ ((( (() ((* ((_ ()) (), ().
    (): (); (*( (*) (** (++ (-- (:: ([[ ([] (_) (_, (_. (__ )-> *(( *)& *)( **) *** */, *</ *>( ++) --- --> ... ../
    /*! /** //! //# //$ //' //* /// //@ />< :", :</ <<" <<< <?= =", ==" ==' === =>$ =>' >", >:: ></ >>> ?", ?', ?>"
    ?>< ?>> ??? [[' []( []) [], []. \\"" _(" __( ___ ``` {!! {/* {// {{$ {}) {}, {}\\ })( })) }), }). }); }// }</
    }}" }}>
    """.split()  # noqa: SIM905
)

SINGLE: Final = frozenset(
    "¡¢£¤¥¦§¨©ª«¬®¯°±²³´µ¶·¹º»¼½¾¿ÀÁÂÃÄÇÉÍÎÐÑÓÖ×ÚÜßàáâãäåæçèéêëìí"
    "îïðñòóôõöøùúûüýāăąćčĐđēęěğīİıłńōőœřśşšţťūůűźżžơưșțəɵάέήίαβγδ"
    "εηθικλμνοπρςστυφχωόЂАБВГДЕЗИКЛМНОПРСТУФЦЧЭЯабвгдежзийклмнопр"
    "стуфхцчшщъыьэюяёіאבדהוחילמנערשת،أإابةتثجحخدذرزسشصضطظعغفقكلمن"
    "هوىيپکگیकतनपमरलसहনরกขคงจชณดตถทนบปผพมยรลวสหอะาำเแใไạảấầẩậắặếề"
    "ểệỉịọỏốồổỗộớờởợụủứửữự‐‑–—―‘’‚“”„†•…‰′″›※₂€™←↑→↓−─━│═║╗╝█░■►●"
    "★☆☴♀♥♪✔⠀、。《》「」『』【】〜あいうえおかがきくけこごさざしじすせそただちっつてでとどなにのはばまみめもやよらり"
    "るれろわをんアィイウェエオカキクグコサシジスズセタダチッテデトドナニバパビピフブプペポマムメャュョラリルレロン・ー一万三"
    "上下不与专业东两个中串为主么义之也书了事二于五些交产享京人亿今介从他付代以们件价任份企优会传但位体何余作你使例供価保信修"
    "倍值停像元先入全公共关其具内円册再写出击分列则初利别到制前力功加务动動包化北区十午华单南即历原去县参及友反发取变口只可台"
    "右号司合同名后向否含听启告员周命和品哈商問器四回因国图土在地场址型城基報場填增声处备复外多大天失头女好如始子字存学安宋完"
    "定实审客家容密对导将小少尔就局展山岁州工左已市布常平年并广序库应店度建开异式引张当录形影径待後得微心必志态思性总息您情意"
    "感成我或户所手打找技投报拉持指按换据排接推提播支收改放政效数整文料断新方族无日时明易星是時景更最月有服期木未本机权束条来"
    "板构析果查标样核格案检模次款止正此步歳段每比民気水求江汽没治法注活流海消清游源火点無然片版物特率环现球理生用由电男画界番"
    "登的监目直相省看県真知码确示社票私种科秒称移程稍税稿空立站章端笑符第等签简算管箱米类系素索约级线组经结给络统编网置美老考"
    "者而联能自至色节英藏行表装西要見见规视角解言計記話読计认议记论设证评试话询该详语误说请读调象责败账货购费资起超路身车转软"
    "载辑输达过运近还这进连述退送选通速造連道邮部都配释里重量金钟钮链销错键长開間関门闭问间队阳陆限院除雅集雷需非面音页项预频"
    "题额首验高黑가간값개거게결경고공과구그글기나내는능니다당대도동되된드든들디라래러력로록료류른를름리만메면명목문미버번보복"
    "부분비사산상색생서성세션소수스습시식신아야어에여열오와요용우운원위으은을음의이인일임입자작장재적전정제져조주지진째체출치"
    "크태터턴트튼하한할함해호화환회！（），－．／０１２３４５６７８９：；＞？＾～･￥"
    "\u0300\u0301\u064e\u064f\u0650\u0651\u0652\u0902\u093e\u093f\u0940\u0941\u0947\u094b\u094d\u09be"
    "\u09bf\u09c7\u09cd\u0bbf\u0bc1\u0bcd\u0d4d\u0e31\u0e34\u0e35\u0e37\u0e38\u0e39\u0e47\u0e48\u0e49"
    "\u0e4c\u17b6\ufe0f"
)


# A blank joins what stands behind it and costs nothing, but before a number, before a character that is no token of its
# own, before Thai, kana and Han, which are written without blanks, and before white space. With some of kana and Han
# that are tokens of their own it costs one more than apart.
_APART: Final = regex(r"[\u0e00-\u0e7f\u3000-\uabff]")
_JOINING: Final = "".join(each for each in SINGLE if not each.isnumeric() and not _APART.match(each))
_PART = regex(
    r"[A-Za-z]+|[0-9]+"
    r"| [\u3001-\uabff]"
    rf"| (?=\s?[^\x00-/:-\x7f{_JOINING}]|\t)"
    r"| {2,}(?![^\x00-/:-\x7f])"
    r"|\n+|[!-/:-@\[-`{-~]+|[^ -~\n]+"
)
_CASED = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LETTER, _CAPITAL = 0.6, 0.62  # of a word that is in no list
_ENDLESS = 0.7  # of a longer word than is looked at
_BROKEN = 0.48  # for a word that is not made of known pieces
_JOINT = 0.1  # for each part of a word such as camelCase
_SIGN, _SIGNS = 0.72, 0.2
_FEW = 3  # signs of which it is known how many tokens they are
_MARK = 2  # what "…" may cost
_JOINED = 1.01  # frequent bytes are not always joined in the best order
_BLANKS = 12  # blanks that are one token at the least
_LONGEST_PIECE, _SHORTEST_PIECE = max(map(len, PIECES)), 3
_ALWAYS_ONE = 2  # letters
_LONGEST_WORD = 64  # that is looked at
_MOST_LETTERS = 16  # of a token
# The last character of each range, and what a character of it costs that is not known as a token of its own.
_ENDS = (0x1F, 0x7FF, 0x8FF, 0xAFF, 0xB7F, 0xDFF, 0xE7F, 0x10FF, 0x303F, 0x30FF, 0xFEFF, 0xFF9F, 0xFFFF)
_COSTS = (1, 2, 3, 2, 3, 2, 2, 3, 3, 2, 3, 2, 3, 4)


def most_tokens(text: str) -> int:
    """An upper bound of what a text costs."""
    return _counted(text) if len(text) <= _SHORT else _count(text)


def _count(text: str) -> int:
    return ceil(sum([_known(part) if len(part) <= _LONGEST_WORD else _cost(part) for part in _PART.findall(text)]))


LONGEST_NOTICE: Final = 150  # tokens of a remark beside an answer; a longer one is cut
_SHORT = 1000  # characters
_counted = lru_cache(2048)(_count)  # what is shown is counted several times, and is shown again


def beginning(text: str, most: int) -> str:
    """A text as far as it costs at most so many tokens, with "…" where more follows, cut at a blank if one is near."""
    if len(text) <= most * _MOST_LETTERS and most_tokens(text) <= most:
        return text
    if most < _MARK:
        return ""
    end = _end(text, most - _MARK)
    blank = max(text.rfind(" ", end // 2, end), text.rfind("\n", end // 2, end))
    return f"{text[: blank if blank > 0 else end].rstrip()}…"


def _end(text: str, most: float) -> int:
    """How many of the first characters cost at most so many tokens."""
    left = most
    for found in _PART.finditer(text):
        part = found.group()
        cost = _known(part) if len(part) <= _LONGEST_WORD else _cost(part)
        if cost > left:
            return found.start() + _fitting(part, cost, left)
        left -= cost
    return len(text)


def _fitting(part: str, cost: float, left: float) -> int:
    """How many characters of a part that costs more than is left may stand."""
    if _is_other(part):
        spent = accumulate(_JOINED * _character(each) for each in part)
        return sum(1 for _ in takewhile(lambda each: each <= left, spent))
    size = int(len(part) * max(0.0, left - 1) / cost)
    while size and _cost(part[:size]) > left:  # its beginning costs more than the rest
        size = size * 3 // 4
    return size


def _cost(part: str) -> float:
    if _is_other(part):
        return _JOINED * sum(map(_character, part))
    if part[0].isalpha():
        return _word(part) if len(part) <= _LONGEST_WORD else len(part) * _ENDLESS
    if part[0].isdigit():
        return ceil(len(part) / 3)
    if part[0] == " ":
        return 1 + len(part) / _BLANKS if part.isspace() else _JOINED + max(2, _JOINED * _character(part[1]))
    if part[0] == "\n":
        return 1 + (len(part) - 1) / _BLANKS
    return _signs(part) if len(part) <= _LONGEST_WORD else _SIGN * len(part) + _SIGNS


def _signs(part: str) -> float:
    """Of many signs together the longest pairs and triples are not always those that are joined."""
    count = at = 0
    while at < len(part):
        at += next((size for size in (3, 2) if part[at : at + size] in SIGNS), 1)
        count += 1
    return count if len(part) <= _FEW else max(float(count), _SIGN * len(part) + _SIGNS)


_known = lru_cache(8192)(_cost)  # texts share most of their parts


def _is_other(part: str) -> bool:
    """Whether it is none of letters, digits, signs, blanks and ends of lines of ASCII."""
    return not (part[0].isascii() and (part[0].isprintable() or part[0] == "\n"))


def _word(word: str) -> float:
    parts: list[str] = _CASED.findall(word)
    return sum(map(_cased, parts)) + (_JOINT * len(parts) if len(parts) > 1 else 0.0)


def _cased(part: str) -> float:
    if len(part) <= _ALWAYS_ONE:
        return 1.0
    if part.isupper():
        return _CAPITAL * len(part) + _BROKEN
    known, strange, at = 0, 0, 0
    lower = part.lower()
    while at < len(lower):
        size = _piece_at(lower, at)
        known, strange, at = (known + 1, strange, at + size) if size else (known, strange + 1, at + 1)
    return max(1.0, known + strange * _LETTER + (_BROKEN if strange else 0.0))


def _piece_at(word: str, at: int) -> int:
    """The length of the longest known piece that begins there; 0 where none does."""
    for end in range(min(len(word), at + _LONGEST_PIECE), at + _SHORTEST_PIECE - 1, -1):
        if word[at:end] in PIECES:
            return end - at
    return 0


@lru_cache(maxsize=8192)
def _character(letter: str) -> int:
    return 1 if letter in SINGLE else _COSTS[bisect_left(_ENDS, ord(letter))]
