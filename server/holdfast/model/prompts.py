# ruff: noqa: RUF001 - words of many scripts
"""Prompts that ask memory for nothing: small talk, "go on", sums, orders that name no particular thing.

As in "ok thanks", "what's next?", "what is 2+2?" (empty), and "fix the failing test", "now do the same for the other
two" (an order). A prompt is one of these only where every word of it is known to name nothing, but for sayings ("never
mind"): one word that is in none of the lists makes it a question like any other. Words are folded: without case and
accents.

"Write a haiku about rain" is an order too: what is to be made up is in no note, whatever is known of rain; and what is
to be translated or mended stands in the prompt. Not so where it speaks of what is ours: "write a poem about my
daughter".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from holdfast.model.words import (
    FRAME_WORDS,
    STOP_WORDS,
    any_of,
    folded,
    folded_words,
    grammar_in,
    in_languages,
    languages_of,
    names_like_grammar,
    regex,
    typewritten,
)

Idle = Literal["empty", "order"]

_LONGEST = 400  # characters: who says more says something
_SUM = regex(
    r"[\d\s.,()]+(?:[-+*/x×÷^%=][\d\s.,()]+)+|\d+ ?%(?= of \d+)| of \d+\b"
    r"|\d+ ?(?:plus|minus|times|divided by|mal|geteilt durch|fois|moins|divise par|por|mas|menos|entre|per|piu|meno"
    r"|diviso|vezes|mais|dividido por|keer|maal|razy|на|плюс|минус|умножить на|разделить на|足す|引く|かける|加上?"
    r"|减去?|乘以?|除以|더하기|빼기|곱하기) ?\d+"
)
# What is written in one piece is a number of something, and no sum, where a group of its digits begins with 0
# ("030/447"), where a year ends it, or begins it before three digits ("417/2023"), where it has three groups ("4-4-2",
# "10.0.0.0/8"), or four digits and such a sign ("1366x768").
_NUMBER_OF_SOMETHING = regex(
    r"(?=.*(?<![\d.,])0\d|\d+/(?:19|20)\d\d\Z|(?:19|20)\d\d/\d{3,}\Z|.*\d{4}.*[-x×]|.*[-x×].*\d{4}|(?:\d+[-/]){2}|(?:\d+\.){2})"
    r"\d[\d.,]*(?:[-/x×]\d[\d.,]*)+"
)
# A telephone number, as "030/555 0182", "+1 (555) 010-2233", or a share.
_CALL = regex(r"(?=(?:\D*\d){7})(?:\(?0\d+\)?|\+\d{1,3})(?:(?: ?/ ?|[ .-])\(?\d+\)?)+|[\d.,]+ ?%")
_COMPOUND = regex(r"\b[a-z]{3,}-(?:up|in|out|off|down|over|back)s?\b")  # of small words made a noun: "stand-up"
_OF_THE_CALENDAR = regex(r"\b(?:date|day|weekday|time|week|month|year|datum|tag|uhrzeit|jour|heure|dia|hora|fecha)\b")
# Faces, thumbs, hands, hearts and sparkles as words (see `folded`): they answer, and ask for nothing.
_REACTION = regex(
    r"u(?:1f6[0-4].|1f9[1-2].|1f97[0-9a]|1f44.|1f49.|1f3c6|1f38[9a]|1f4(?:aa|af)|1f525|1f5a4|27(?:05|14|28|64))"
)
_GOES_ON = regex(r"[a-z_+]")
_KEYWORDS = 2  # words that are no sentence: "error log"
_ASKING = regex("[?？؟]")

# What asks memory, whatever stands around it: "what did we decide?", "do you remember?", "who am I?"
_MEMORY = """
    happen happens happened decide decided decision decisions discuss discussed agree agreed remember remembered
    recall know known learn learned learnt store stored note notes noted memory memories forgot forgotten told talk
    talked history prefer preference preferences convention conventions usual usually lately recently previously who
    whose passiert entschieden entscheidung beschlossen besprochen erinnerst weisst kennst gemerkt notiz notizen wer
    sais connais souviens rappelles retenu decidimos decidido sabes conoces recuerdas recuerda quien nota notas
    decidiu lembra lembras sabe conhece quem deciso decidere ricordi ricorda sai conosci chi besloten weet herinner
    zdecydowalismy pamietasz wiesz kto решили помнишь знаешь кто kim hatirliyor biliyor
"""
_MEMORY_UNSPACED = "覚え 記憶 知って 決め 誰 记得 记住 知道 决定 谁 記得 決定 기억 알고 결정 누구"

# Small talk, agreement, thanks, and what points at something that was said before, beside each language's words of
# grammar.
_TALK = """
    ok k kk yep yeah yup nope nah thx ty cheers pls great nice cool lgtm terima kasih makasih lanjutkan lanjut perfect
    awesome excellent fine wow hmm hm oh ah lol haha hi bye goodbye goodnight morning evening afternoon welcome sorry
    correct bad others another two three four five six seven eight nine ten one previous second third less done go goes
    going continue proceed carry keep stop wait undo redo retry start begin finish finished ready tries thing things
    little few every everything anything nothing doesnt dont didnt isnt cant wont whats thats im youre hows doesn't
    didn't isn't won't cannot may hundred thousand small smaller big bigger tell sound sounds fun funny plus minus
    divided equals sum square root percent joke jokes day weekend idea ideas opinion looks better best worse love loved
    hate instead though job work works worked working al ben bo dan del ed ela ella esa fran mel mia ola uma
    | nein danke dankeschon gut super toll prima klasse stimmt richtig falsch hallo moin servus tschuss guten morgen tag
    abend nacht weiter weitermachen mache machst los nochmals dasselbe gleiche gleichen selbe anderen andere anderer
    anderes beide beiden zwei drei vier funf zehn eins nachstes nachste nachster die mehr weniger mal einfach gehts dir
    dich kommt passt verstanden einverstanden zeig gib warte stopp halt fertig bereit sehr ergibt fahre fort fortfahren
    lass weiterfahren
    | merci parfait tres bon bonne bonjour bonsoir salut revoir d'accord daccord continuez vas y allez allons fais
    faites memes choses trois autre autres suivant suivante maintenant ensuite puis c'est ceci qu'est-ce prochaine
    prochain etape plait stp svp arrete attends pret genial beaucoup pareil font mille poursuis poursuivez poursuivons
    continuons avancons
    | gracias ahora vez veces vale perfecto bueno buena buenos buenas dias tardes noches hola adios sigue siguiente
    continua continuar adelante hazlo haz haga misma otros otras otro otra luego despues toca favor acuerdo listo espera
    sim obrigado obrigada otimo perfeito bom boa dia tarde noite ola tchau proximo proxima faca faz fazer mesmo mesma
    outros outras outro outra dois duas agora depois mas grazie nuovo perfetto ottimo bene buono buongiorno ciao avanti
    prossimo prossima fai fare stesso stessa per altri altre altro altra due tre adesso ora ma viene dopo favore molto
    quantos fa fanno son continuemos sigamos prosigue prosigamos dale venga continuiamo andiamo prosegui proseguiamo
    pure continue prossiga vamos frente seguir segue
    | сколько будет bedankt dank nee goed doei verder ga door doe hetzelfde zelfde twee volgende die andere alsjeblieft
    dzieki dziekuje swietnie dobrze czesc dalej kontynuuj zrob samo pozostalych dwoch teraz potem nastepny nastepne lub
    ale prosze спасибо отлично хорошо супер ладно ок привет пока дальше продолжай продолжить сделай сделать самое
    остальных других двух теперь следующий и пожалуйста давай понятно evet hayir tesekkurler tesekkur ederim tamam guzel
    harika merhaba devam simdi aynisini digerleri ikisi yap sirada lutfen peki tack nej bra perfekt hej fortsatt gor
    samma andra tva sedan nasta ar snalla شكرا نعم لا حسنا ممتاز مرحبا استمر تابع الان افعل نفس الشيء للاخرين التالي
    فضلك धन्यवाद हाँ नहीं ठीक अच्छा नमस्ते जारी रखो अब वही करो बाकी दो लिए आगे कृपया
"""
_TALK_UNSPACED = """
    いくつ いくら て 这样 那样 這樣 等于 多少 等於 加 减 乘 一 二 三 四 五 六 七 八 九 十 얼마
    ありがとうございます ありがとう はい いいえ わかりました 了解です 了解 お願いします こんにちは おはよう
    続けてください 続けて 次は何ですか 次は何 次は 次 同じこと 同じ 残りの二つ 残り 二つ 他の 他 今度 今 それ これ
    もう一度 して しました ください も に を の は で が と ですか です ます か よ ね 大丈夫 いい 谢谢 好的 好 是的
    是 不 不是 对 可以 没问题 你好 再见 继续 下一步 接下来 然后 现在 做 同样的 同样 一样 其他 另外 剩下 两个 那 这
    些 的 了 吧 吗 什么 请 再 把 也 事 干 个 呢 谢 謝謝 繼續 現在 請 兩個 什麼 接下來 감사합니다 고마워요 고마워 네
    아니요 좋아요 좋아 알겠습니다 안녕하세요 계속해 계속 다음은 다음 뭐야 뭐 무엇 이제 지금 같은 똑같이 나머지 다른
    두 개 해줘 해주세요 하세요 해 주세요 도 에 를 을 은 는 이 가 요 것 줘 어 아
"""

# Thanks and praise, where something of it says so: "Thanks, that helps a lot", "C'etait tres utile, merci".
_PRAISE = """
    help helps helped helpful helping useful handy brilliant wonderful amazing fantastic lovely superb neat impressive
    appreciate appreciated legend lifesaver saver genius star charm treat exactly perfectly clear clearer interesting
    kind quick fast clever smart smooth smoothly beautiful beautifully impressed happy glad delighted fab
    | war dank hilft half geholfen hilfreich nutzlich wunderbar fantastisch grossartig grossartige spitze hervorragend
    ausgezeichnet brillant freut lieb lieben lieber liebe nett vielen tausend hilfe arbeit leistung perfekt deine dein
    fur klar verstandlich sehr erklarung
    | aide aider aidee utile utiles formidable magnifique excellent excellente gentil gentille super travail mille
    brillant clair bravo genial geniale chouette impeccable vraiment ton tes explication exactement
    | ayuda ayudo ayudado util utiles estupendo estupenda maravilloso maravillosa fantastico fantastica excelente
    increible amable genial trabajo brillante claro clara bravo mucho muchas muchisimas eres voce exactamente
    explicacion
    aiuta aiutato aiuto utile stupendo meraviglioso eccellente gentile lavoro mille bravo brava geniale genio chiaro
    proprio cosi sei spiegazione magnifico splendido ajuda ajudou util maravilhoso maravilhosa fantastica excelente
    trabalho gentil incrivel claro exatamente pela foi mesmo stato tuo tua tanto demais realmente davvero
    | geholpen handig geweldig fijn
"""
_THANKS = """
    thanks thank thx ty cheers wonderful brilliant fantastic excellent wunderbar fantastisch grossartige excelente
    eccellente excellente maravilhoso fantastico danke dank dankeschon merci gracias grazie obrigado obrigada bedankt
    bravo appreciate lifesaver perfect perfekt parfait perfecto perfetto perfeito great awesome super genial
    ottimo otimo
"""
_ALSO_THINGS = frozenset("handy star charm treat hilfe arbeit travail trabajo lavoro trabalho work".split())  # noqa: SIM905
_HAVING_SAID = frozenset("that this it das ca c cela ceci eso esto es e questo isso isto dat you eres sei voce".split())  # noqa: SIM905

# Those of the above that are a whole prompt; any other word that stands alone is one to look for.
_ALONE_SAID = """
    ok okay k kk yes yep yeah yup no nope nah sure thanks thank thx ty cheers please pls great good nice cool perfect
    awesome excellent fine wow hmm hm lol hello hi hey bye goodbye welcome sorry right correct exactly agreed again next
    continue proceed go stop wait undo redo retry done ready
    ja nein danke dankeschon bitte gut super toll prima klasse genau hallo weiter nochmal
    oui non merci parfait bonjour salut continue continuez suivant encore stp
    si gracias vale perfecto bueno hola adios sigue continua siguiente listo sim nao obrigado obrigada otimo ola proximo
    grazie perfetto ottimo bene ciao avanti prossimo bedankt nee goed verder tak nie dzieki dziekuje dobrze dalej
    да нет спасибо отлично хорошо ладно ок привет пока дальше продолжай понятно evet hayir tesekkurler tamam devam
    tack bra hej bravo wonderful fantastic amazing stupendo meraviglioso maravilhoso estupendo formidable poursuis
    continuons continuemos prosigue continuiamo prosegui prossiga sigamos شكرا نعم لا حسنا تابع धन्यवाद ठीक नमस्ते
"""

# Orders, and things that every project has: they name nothing in particular.
_ORDERS = """
    fix fixes fixed repair run runs running rerun execute test tests testing unittest unittests fail fails failing
    failed failure failures crash crashes crashed crashing broken break breaks pass passes passing green red build
    builds rebuild compile compiles
    write rewrite add adds remove delete drop rename move copy paste replace change changes changed update updates
    refactor refactoring clean cleanup tidy simplify shorten extract inline format lint reformat implement create
    make generate open close show list print explain describe summarise summarize translate review check verify look
    find search read commit commits push pull merge rebase branch stash diff revert rollback pr code file files
    folder directory function functions method methods class classes module modules variable variables parameter
    argument line lines block comment comments docstring docstrings documentation docs readme type types error
    errors bug bugs warning warnings exception exceptions issue issues problem problems message messages output log
    logs ship result results script scripts program command commands suite case cases name names import imports unused
    dead suggestion suggestions step steps task tasks todo todos item items part parts section sentence text option
    paragraph word words answer question example examples version feature features app application project repo
    repository above below following remaining current new old whole entire missing simpler shorter longer faster
    cleaner use using install debug apply split join sort improve improvement handle ensure
    | behebe repariere
    korrigiere fuhre aus fuhr starte lauf laufen teste fehlgeschlagenen fehlschlagenden fehlgeschlagene kaputten
    kaputte fehler datei dateien funktion funktionen methode klasse zeile zeilen schreibe schreib fuge hinzu losche
    entferne andere benenne um aktualisiere erklare prufe baue committe kommentar kommentare warnung warnungen
    ergebnis befehl schritt aufgabe nachsten
    | corrige corriger echoue echouent repare reparer lance lancer relance
    executer qui casse fichier fichiers fonction fonctions classe ligne lignes ecris ajoute supprime renomme modifie
    explique verifie erreur erreurs bogue commentaire commentaires avertissement etape tache
    | arregla arreglar
    corregir ejecuta ejecutar corre prueba pruebas falla fallan fallando codigo archivo archivos fichero funcion
    funciones metodo clase linea lineas escribe agrega anade borra elimina renombra cambia explica revisa errores
    comentario comentarios advertencia paso tarea corrija conserta consertar rode rodar executar testes falhando
    falha falhou arquivo arquivos ficheiro funcao funcoes linha linhas escreva adicione apague remova renomeie mude
    erro erros correggi sistema esegui lancia eseguire nuovo che fallisce fallito codice funzione funzioni riga
    righe scrivi aggiungi cancella rimuovi rinomina spiega errore errori
    | repareer herstel los op draai voer uit
    falende mislukte bestand bestanden functie schrijf voeg toe verwijder hernoem wijzig leg uitleg fout fouten
    napraw popraw uruchom testy nieudany nieprzechodzacy kod plik pliki funkcje funkcja napisz dodaj usun zmien
    wyjasnij blad bledy исправь почини запусти тест тесты падающий упавший сломанный код файл файлы функцию функция
    метод класс строку напиши добавь удали переименуй измени объясни проверь ошибку ошибки duzelt calistir testi
    testleri basarisiz kodu dosya dosyayi fonksiyon yaz ekle sil degistir acikla hata hatayi fixa kor testet
    testerna trasiga koden fil filen skriv lagg till ta bort andra forklara felet اصلح شغل الاختبار الاختبارات
    الفاشل الكود الملف الدالة اكتب اضف احذف غير اشرح الخطا ठीक चलाओ टेस्ट विफल कोड फ़ाइल फाइल लिखो जोड़ो हटाओ बदलो
    समझाओ को करें करो
"""
_ORDERS_UNSPACED = """
    失敗している 失敗した 失敗 テスト 修正 直し 直す 実行 コード ファイル 関数 クラス エラー バグ 説明 書い 追加
    削除 変更 リファクタリング コミット 失败的 失败 测试 修复 修改 修 运行 跑 代码 文件 函数 类 错误 解释 写 添加
    删除 重命名 重构 提交 更新 检查 失敗的 測試 執行 程式碼 檔案 실패한 실패하는 테스트 고쳐 수정 실행 돌려 코드
    파일 함수 클래스 오류 에러 버그 설명 작성 추가 삭제 변경 리팩토링 커밋
"""
_QUESTION = frozenset(
    """how where which why when what what's wie wo welche welcher welches warum wann was comment ou quel quelle quelles
    quels pourquoi quand combien como donde cual cuales cuando onde qual quais dove come quale quali perche quando hoe
    waar welke waarom wanneer wat jak gdzie ktory ktora dlaczego kiedy co как где какой какая почему когда что
    nasil nerede hangi neden var hur var vilken varfor كيف اين متى لماذا كैसे कहाँ कब क्यों कौन""".split()  # noqa: SIM905
)
# With a time these ask for what is from then, also without the sign of a question.
_LISTING = _QUESTION | set(
    """anything everything something nothing things stuff all any every and also my our the for from since until on in
    at alles etwas was tout rien todo algo que qu quoi cosa che wat whats""".split()  # noqa: SIM905
)
_SHOWING = frozenset(
    """list show find search summarise summarize recap review print give tell zeig liste montre
    muestra""".split()  # noqa: SIM905
)
_QUESTION_UNSPACED = regex("どう|どこ|どの|いつ|なぜ|怎么|怎麼|哪|为什么|為什麼|什么时候|어떻게|어디|언제|왜|어느")

# Of the asker or those around: "where do I work?" asks memory, whatever else its words are, but not where it points to
# what is before both: "what do I do next?", "how do we fix this?"
_OURS = frozenset(
    """i me my mine we us our ours ich mich mir mein meine meinen meinem meiner wir uns unser unsere unseren unserem
    unserer je moi mon ma mes nous notre nos yo mi mis nosotros nuestro nuestra nuestros nuestras eu meu minha meus
    minhas nosso nossa io mio mia miei mie noi nostro nostra ik mijn ons onze""".split()  # noqa: SIM905
)
# Those that say whose something is, but for "mi", which is Italian for whom it helps.
_HELD = _OURS - frozenset("i me we us ich mich mir wir uns je moi nous yo eu io noi ik mi".split())  # noqa: SIM905
_POINTING = frozenset(
    """next now then this that these those it you your yourself here there again else instead jetzt nun dann nachstes
    nachste nachsten nachster als das dies dieses dir dich du euch maintenant ensuite suivant suivante puis ca cela ceci
    tu te vous ahora luego despues siguiente esto eso aqui usted adesso ora poi questo quello agora depois isso isto
    voce nu dan volgende dit dat je jij""".split()  # noqa: SIM905
)

_BEGINS = frozenset(
    """is are was were do does did can may should has have had will would am ist sind war hat haben kann darf muss
    durfen mussen sollen gibt est sont peut peuvent
    doit faut es son esta estan hay puede pueden tiene debe""".split()  # noqa: SIM905
)
_TO_YOU = regex(
    r"\W*(?:(?:please|bitte|por favor|s'il te plait) |(?:can|could|would|will) you |(?:kannst|konntest) du |peux-tu "
    r"|puedes )"
)

# Something is to be made up: what makes it, for whom, what it is, and what says of what.
_MAKES = """
    write compose draw sketch paint invent create make tell give sing generate imagine improvise recite draft schreib
    schreibe dichte mal male zeichne erfinde erfind erzahl erzahle gib ecris ecrivez dessine compose invente raconte
    imagine escribe escribeme dibuja inventa compon cuenta cuentame crea scrivi disegna componi racconta raccontami
    escreva escreve desenhe conte conta schrijf teken verzin vertel napisz narysuj напиши нарисуй придумай сочини
    расскажи yaz ciz
"""
_FOR_WHOM = "up me us mir uns dir moi nous mi nos mij ons mne мне нам bana bize"
_PIECES = """
    haiku poem poetry limerick sonnet verse rhyme ballad ode song lyrics lullaby story storie tale fable joke pun
    riddle essay novel novella monologue slogan tagline tweet picture drawing painting cartoon comic doodle art melody
    twister acrostic proverb gedicht gedichte lied geschichte marchen witz ratsel aufsatz reim kurzgeschichte bild
    fabel sonett poeme chanson histoire conte blague devinette dessin poema cancion cuento historia chiste adivinanza
    dibujo rima fabula poesia canzone storia barzelletta favola disegno cancao piada anedota desenho gedichtje liedje
    verhaal verhaaltje mop raadsel tekening sprookje wiersz piosenke opowiadanie bajke zart стих стихотворение песню
    рассказ сказку анекдот шутку загадку хайку siir hikaye sarki fikra masal
"""
_SAYS_OF_WHAT = """
    about on of with in from for where that who which over uber vom von mit fur aus in im sur avec du de des pour qui
    sobre con para que sul sulla su di com om met z о об про hakkinda please bitte and und et y
"""
# A piece of code of what everybody writes: "write a function that reverses a string".
_CODE = """
    function functions script program regex class snippet code funktion skript programm klasse regularen ausdruck
    fonction programme classe expression reguliere funcion programa clase expresion regular funzione classe programma
    espressione regolare funcao classe expressao
"""
_CODED = """
    reverse reverses reversed string strings sort sorts sorted list lists array arrays number numbers prime primes even
    odd fibonacci factorial palindrome palindromes duplicates vowels words characters email emails address addresses
    url urls json csv html css sql bash shell python javascript typescript java rust go ruby php c prints print
    counts count checks check removes returns finds computes calculates parses validates matches converts reads
    recursive recursion loop hello world binary search bubble quick merge valid matching integers integer sum dates
    zeichenkette umkehrt umdreht sortiert liste zahlen primzahlen primzahl ausgibt pruft berechnet zahlt e-mail adressen
    adresse gerade ungerade worter vokale string fakultat rekursiv duplikate entfernt wandelt
    inverse inversent chaine chaines caracteres trie liste nombres nombre premiers premier affiche compte verifie
    calcule adresses adresse mots voyelles factorielle doublons supprime valide
    invierta invierte cadena cadenas ordene ordena lista numeros numero primos primo imprima imprime cuente cuenta
    verifique verifica calcule calcula correo correos direcciones palabras vocales factorial duplicados elimine
    inverte inverta stringa stringhe ordina lista numeri numero primi primo stampa conta controlla calcola indirizzi
    indirizzo parole vocali fattoriale duplicati rimuove ordene imprime imprima conte palavras fatorial
"""
_WRITES = """
    write create make generate implement schreib schreibe erstelle programmiere ecris ecrivez cree escribe escribeme
    crea scrivi scrivimi escreva escreve crie schrijf
"""
_NO_PIECE = "the this that these our my your his her their der die das le la el about of from for user success job"
_MADE_UP = regex(
    r"(?:\W*\b(?:please|bitte|now|jetzt|por favor|s'il te plait|ok|okay|hey)\b)*\W*"
    r"(?:(?:can|could|would|will) you (?:please )?|(?:kannst|konntest) du (?:bitte )?|peux-tu |puedes )?"
    rf"(?:{any_of(folded(_MAKES).split())})(?:[- ](?:{any_of(folded(_FOR_WHOM).split())})\b)*"
    rf"(?: (?!(?:{any_of(_NO_PIECE.split())})\b)[\w'-]+){{0,4}}? (?:{any_of(folded(_PIECES).split())})s?"
    rf"(?P<rest>\W*\Z|\W+(?:{any_of(folded(_SAYS_OF_WHAT).split())})\b.*)",
    re.DOTALL,
)
_MADE_UP_UNSPACED = regex(
    "(?:写|作|画|编|讲|編|寫|畫|講)(?:一|个|個|首|篇|段|幅|张|張|点|點|我|给)*[^。]{0,12}(?:诗|詩|俳句|故事|歌|笑话|笑話|谜语)"
    "|(?:俳句|詩|物語|歌|小説|絵|冗談|なぞなぞ)を?(?:一つ|ひとつ)?(?:書い|作っ|描い|詠ん|歌っ|言っ)"
    "|(?:시|하이쿠|이야기|노래|농담|그림|동화)(?:를|을)? ?(?:하나 )?(?:써|지어|그려|만들어|불러|해)"
)
_OURS_UNSPACED = regex("我们|我們|我的|咱|私|うち|僕|우리|내 |나의")
_FOR_SOMEBODY = regex(r"\b[A-Z]\w+'s\b|\b(?:for|für|pour|para) [A-Z]")


# Sayings whose single words may name something. "Talk to you tomorrow" asks of no talk.
_SAYING = regex(
    r"\b(?:good ?night|sleep well|never ?mind|nvm|no worries|(?:that |it )?makes sense|did the trick|take your time"
    r"|(?:talk|speak) (?:to (?:you|u) |again )?(?:soon|later|then|tomorrow|again)"
    r"|(?:talk|speak)(?: to (?:you|u))?(?=\W*\Z)|(?:once|one) more|shorter|less jargon"
    r"|the other way a?round"
    r"|forget (?:it|about it)|(?:let's|lets) (?:table|park|drop|leave) (?:it|this|that)"
    r"|(?:you|just) (?:decide|choose|pick)(?= (?:for me|one|it|yourself|please)\b|\W*\Z)"
    r"|(?:decide|choose) (?:for )?yourself|your (?:choice|call)|i leave (?:it|that|this) to you"
    r"|(?:du|ihr) (?:entscheidest|wahlst)|entscheide du|(?:tu|vous|usted) (?:decide[sz]?|choisis|eliges)|decide tu"
    r"|scegli tu"
    r"|make me laugh|keep going|(?:let's |lets )?move on|bring mich zum lachen|fais[- ]moi rire"
    r"|hazme reir|fammi ridere|faz[- ]me rir"
    r"|vergiss es|nicht so wichtig|lass (?:es )?gut sein|hat geklappt|(?:viel )?kurzer|schlaf gut"
    r"|laisse tomber|oublie(?: ca)?|pas grave|plus courte?|ca marche|bonne nuit"
    r"|olvidalo|dejalo|mas corto|ya funciona|buenas noches|no pasa nada"
    r"|lascia (?:stare|perdere)|non importa|piu (?:breve|corto)|procedi pure|buonanotte"
    r"|deixa pra la|mais curto|era isso mesmo|pode seguir|boa noite)\b"
)
# How somebody is addressed, and thanked in advance: it is no part of what is asked.
_HAILED = regex(
    r"\A\W*(?:(?:hey|hi|hello|hallo|hola|salut|bonjour|ciao|oi|ol[a\u00e1]|moin|servus|guten (?:morgen|tag|abend)"
    r"|good (?:morning|afternoon|evening))(?:[ ,]+\w+)?|claude|codex|chatgpt|copilot|assistant)\s*[,!]+\s+(?=\S)",
    re.IGNORECASE,
)
_THANKED = regex(
    r"(?<=[?.!,\u2026])\s*\b(?:(?:many |lots of )?thanks?(?: you)?(?: (?:a lot|so much|in advance|again|very much))*"
    r"|thx|cheers|(?:vielen )?danke?(?: (?:sch\u00f6n|dir|sehr|im voraus|vielmals))*"
    r"|merci(?: (?:beaucoup|d'avance|bien))*|(?:muchas )?gracias(?: de antemano)?|grazie(?: mille)?|obrigad[oa]"
    r"|please|bitte|por favor)\s*[.!\u2026]*\s*\Z",
    re.IGNORECASE,
)
_PLACE = regex(r"\b(steps?|option|schritt|etape|paso|passo) \d{1,3}\b")  # of what is before both
_QUOTED = regex(  # what is to be translated or mended stands there
    r"\W*(?:(?:please|bitte|por favor|per favore|can you|could you) )*"
    r"(?:translate|ubersetze?|traduis|traduisez|traduce|traduzca|traduci|traduza|traduz|vertaal|proofread"
    r"|(?:fix|correct) the (?:typos?|grammar|spelling)|corrige|corrigez)\b"
    r"(?P<before>[^\"\u201c\u201e\u00ab]{0,60})[\"\u201c\u201e\u00ab].*?[\"\u201d\u201c\u00bb](?P<behind>.*)",
    re.DOTALL,
)
_ASKED_AGAIN = frozenset("did do does is are was were has have had ist sind war hat".split())  # noqa: SIM905


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in folded_words(text))


def _pieces(text: str) -> re.Pattern[str]:
    """Matches any of these where no spaces stand between words, the longest first."""
    return regex("|".join(sorted(map(re.escape, folded(text).split()), key=len, reverse=True)))


def _by_language(text: str) -> tuple[frozenset[str], ...]:
    """Words of English, German, French, Spanish with its like, and others, between which "|" stands."""
    return tuple(_words(part) for part in text.split("|"))


_ASKS = _words(_MEMORY)
_ASKS_UNSPACED = _pieces(_MEMORY_UNSPACED)
_TALK_IN, _ORDERS_IN = _by_language(_TALK), _by_language(_ORDERS)
_ENGLISH = 0
_POINTS_BACK = frozenset("it that this these those".split())  # noqa: SIM905 - as above
_FAILS = frozenset("fail fails failing failed crash crashes crashing crashed break breaks broken".split())  # noqa: SIM905
# Of these what people are called too, where it is written so, and not at the beginning of a sentence.
_CALLED = regex(
    r"[^\W\d_A-Z](?<!\b[Hh]i)(?<!\b[Hh]ey)(?<!\b[Oo]k)(?<!\b[Hh]ello)(?<!hanks)(?<!\byou) "
    r"(?:Al|Ben|Bo|Dan|Del|Don|Ed|Ela|Ella|Esa|Fran|Han|May|Mel|Mia|Ola|Sana|Uma|Van|Will)\b(?! \d)"
)
_ALONE = _words(_ALONE_SAID)
_ALL_PRAISE, _GIVES_THANKS = _words(_PRAISE), _words(_THANKS)
_SMALL_PIECES = _pieces(_TALK_UNSPACED)
_WRITING, _PIECES_OF_CODE = _words(_WRITES), _words(_CODE)
_ABOUT_CODE = _words(_CODED) | _WRITING | _PIECES_OF_CODE
_BESIDE_CODE = (STOP_WORDS | FRAME_WORDS | _words("una uno um uma une qui che die")) - _OURS | _words(_FOR_WHOM, "i")
_ORDER_PIECES = _pieces(_ORDERS_UNSPACED)


@lru_cache(32)
def _talk(languages: tuple[int, ...]) -> frozenset[str]:
    """Words that name nothing in a prompt of these languages."""
    return (grammar_in(languages) | in_languages(languages, _TALK_IN)) - _ASKS


@lru_cache(32)
def _orders(languages: tuple[int, ...]) -> frozenset[str]:
    """Words of orders in these languages, and in English."""
    return in_languages((_ENGLISH, *languages), _ORDERS_IN)


def is_no_question(query: str) -> bool:
    """Whether nothing is asked, so that all that the filters let through is meant."""
    return not query.strip().strip("*")


def without_talk(query: str) -> str:
    """A question without whom it addresses and its thanks: "Hey Claude, which scanner do we use? Thanks!"."""
    if len(query) > _LONGEST:
        return query
    plain = _THANKED.sub("", _HAILED.sub("", query))
    return plain if re.search(r"\w", plain) else query


@lru_cache(16)  # of one prompt it is asked several times
def idle(prompt: str) -> Idle | None:
    """Whether a prompt asks memory for nothing.

    Returns:
        `empty` where it names nothing at all; `order` where it orders something and names only what every project
        has, or something to be made up; None where it may be a question to memory, or says nothing.
    """
    if len(prompt) > _LONGEST:
        return None
    is_made = _is_to_be_made_up(prompt) or _is_code_of_anybody(prompt)
    return "order" if is_made or _is_quoted(prompt) else _names_nothing(prompt)


def idle_at_a_time(prompt: str, rest: str) -> Idle | None:
    """The same of a prompt that speaks of a time, which asks for what is from then: `rest` is it without that.

    So "what's on tomorrow?" and "anything from last week" ask memory; "what day is it today?", "what is 2+2 today?",
    "ok, until Friday" and "fix the failing test today" do not.
    """
    found = idle(rest)
    words = folded_words(rest)
    if found == "order" and (words[0] in _SHOWING | _LISTING or words[-1] == "due"):  # "tasks due" until Friday
        return None
    if found != "empty" or not words:
        return idle(_OF_THE_CALENDAR.sub(" ", prompt)) if _asks_for_the_date(words) else found
    is_said = words[0] not in _LISTING and not _ASKING.search(prompt)
    has_sum = any(re.search(r"\d", each.group()) for each in _SUM.finditer(rest))
    return found if is_said or has_sum or _asks_for_the_date(words) else None


def _asks_for_the_date(words: Sequence[str]) -> bool:
    """As "what is the date", "which day is it", and nothing else."""
    talk = _talk(languages_of(" ".join(words)))
    told = [word for word in words if word not in talk and not _OF_THE_CALENDAR.fullmatch(word)]
    named = [word for word in words if _OF_THE_CALENDAR.fullmatch(word)]
    return bool(named) and not told and words[0] in _QUESTION and _OURS.isdisjoint(words)


_OF_WHOM = regex(r"\b(?:about|from|with|uber|von|mit|sobre|sur|de) (\w+)")  # "tell me about Dan"


def _names_nothing(prompt: str) -> Idle | None:
    plain = typewritten(prompt)
    if _COMPOUND.search(plain) or (
        _CALLED.search(prompt) and (_ASKING.search(prompt) or _is_question(prompt, folded_words(plain)))
    ):
        return None
    text = _SUM.sub(_without_sum, plain)
    has_sum, orders = text != plain, 0
    text, sayings = _PLACE.sub(r"\1", text), 0
    if not _asks_with(prompt, folded_words(text)):
        text, sayings = _SAYING.subn(" ", text)
    if not text.isascii():
        if _ASKS_UNSPACED.search(text):
            return None
        text, orders = _ORDER_PIECES.subn(" ", text)
        text = _SMALL_PIECES.sub(" ", text)
    words = folded_words(text)
    if not _is_question(prompt, words):
        words = [word for word in words if not _REACTION.fullmatch(word)]
    is_named = not names_like_grammar(prompt).isdisjoint(_OF_WHOM.findall(text))
    if is_named or not re.search(r"\w", prompt) or not _ASKS.isdisjoint(words):
        return None
    languages = languages_of(prompt)
    talk = _talk(languages)
    if not _is_question(prompt, words):
        talk |= _said_beside(prompt, words, languages)
    telling = [word for word in words if word not in talk and not _is_letter(word)]
    if any(word not in _orders(languages) for word in telling) or (not telling and _asks_of_us(words)):
        return None
    if not telling and not orders:
        is_a_word = len(words) == 1 and words[0] not in _ALONE and not has_sum and not sayings
        return None if is_a_word else "empty"
    is_search = 0 < len(words) == len(telling) <= _KEYWORDS and not orders and not sayings
    points_back = _FAILS.issuperset(telling) and not _POINTS_BACK.isdisjoint(words)  # "why did that fail?"
    return None if is_search or (_is_question(prompt, words) and not points_back) else "order"


def _said_beside(prompt: str, words: Sequence[str], languages: tuple[int, ...]) -> frozenset[str]:
    """What else names nothing in a prompt that asks nothing: as "ok danke, next", and what praises."""
    more = _talk((_ENGLISH, *languages)) | (_ALONE if _OURS.isdisjoint(words) else frozenset())
    if _ASKING.search(prompt) or not _HELD.isdisjoint(words):
        return more
    if not _GIVES_THANKS.isdisjoint(words[:1]) and not _QUESTION.isdisjoint(words[1:2]):
        return more  # "thanks, what about the star"
    if not _GIVES_THANKS.isdisjoint(words):
        return more | _ALL_PRAISE
    return more if _HAVING_SAID.isdisjoint(words[:1]) else more | _ALL_PRAISE - _ALSO_THINGS


def _asks_with(prompt: str, words: list[str]) -> bool:
    """Whether the words of a saying may be asked about: "what did the trick?", "did I sleep well?"."""
    is_asked = _ASKING.search(prompt) is not None and not _ASKED_AGAIN.isdisjoint(words[:1])
    return is_asked or not _QUESTION.isdisjoint(words)


def _is_quoted(prompt: str) -> bool:
    """Whether what is to be translated or mended stands in the prompt, and nothing of ours."""
    found = _QUOTED.match(folded(prompt))
    return found is not None and (_OURS | _ASKS).isdisjoint(folded_words(f"{found['before']} {found['behind']}"))


def _is_code_of_anybody(prompt: str) -> bool:
    """Whether code is ordered that does what any code does, and names nothing else."""
    words = folded_words(prompt)
    told = set(words) - _BESIDE_CODE
    is_written = not _WRITING.isdisjoint(words[:4]) and not _PIECES_OF_CODE.isdisjoint(words)
    return is_written and told <= _ABOUT_CODE


def _is_to_be_made_up(prompt: str) -> bool:
    """Whether a poem, a story, a picture or the like is ordered, and of nothing that is ours."""
    plain = folded(prompt)
    if not plain.isascii() and _MADE_UP_UNSPACED.search(plain):
        return not _ASKS_UNSPACED.search(plain) and not _OURS_UNSPACED.search(plain)
    found = _MADE_UP.match(plain)
    words = set(folded_words(found["rest"])) if found else set()
    return found is not None and words.isdisjoint(_OURS | _ASKS - {"who"}) and not _FOR_SOMEBODY.search(prompt)


def asks_something(prompt: str) -> bool:
    """Whether a prompt may be a question to memory by its form: no order, and no answer to what was said before.

    It has the sign of a question, or begins as one does, or with a word that names something, and goes on as a sentence
    does: two words of grammar are in it. Keywords alone are looked for more strictly.
    """
    words, languages = folded_words(prompt), languages_of(prompt)
    is_order = bool(words) and (words[0] in _orders(languages) - _QUESTION or bool(_TO_YOU.match(folded(prompt))))
    if not words or is_order or idle(prompt) is not None:
        return False
    if _ASKING.search(prompt) or words[0] in _QUESTION | _BEGINS or _QUESTION_UNSPACED.search(prompt):
        return True
    return words[0] not in _talk(languages) and len(STOP_WORDS.intersection(words)) > 1


def _without_sum(found: re.Match[str]) -> str:
    """Nothing in the place of a sum, but what looks like one as it is where it names something, as in "0x8004f"."""
    text, (start, end) = found.group(), found.span()
    before, after = found.string[start - 1 : start], found.string[end : end + 1]
    goes_on = (text[:1].isdigit() and _GOES_ON.match(before)) or (text[-1:].isdigit() and _GOES_ON.match(after))
    is_number = _NUMBER_OF_SOMETHING.fullmatch(text.strip(" .,()")) or _CALL.fullmatch(text.strip())
    return text if goes_on or is_number else " "


def _is_letter(word: str) -> bool:
    """Whether this is what an apostrophe leaves of a word: "l'erreur"."""
    return len(word) == 1 and "a" <= word <= "z"


def _asks_of_us(words: list[str]) -> bool:
    is_asked = len(words) > 1 and words[0] in _QUESTION
    return is_asked and not _OURS.isdisjoint(words) and _POINTING.isdisjoint(words)


def _is_question(prompt: str, words: list[str]) -> bool:
    asked = words if _ASKING.search(prompt) else words[:1]
    return not _QUESTION.isdisjoint(asked) or bool(_QUESTION_UNSPACED.search(prompt))
