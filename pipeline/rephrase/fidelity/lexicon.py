"""Words that carry polarity, condition, quantity and direction, per language (en, de, fr, es, zh).

Plain data: to teach the checker a word, add it here.
"""

from __future__ import annotations

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(
        "the of and to in is are was were that it with for as by at from this which be has have not".split()
    ),
    "de": frozenset(
        "der die das und ist ein eine nicht mit von den dem zu auf im sich wird für wie wenn es sind hat sie ihre bis nach man bei durch".split()
    ),
    "fr": frozenset(
        "le la les des est et une dans que pour sur par du au avec il elle pas qui ne sont aux ou ce cette sa son "
        "de en un se qu on nous vous plus était ont ces leur à où lors".split()
    ),
    "es": frozenset(
        "el la los las es y una en que para por con del se no son un de lo su está al como más fue sus".split()
    ),
}
"""Frequent words by which a language is guessed."""

STOP: dict[str, frozenset[str]] = {
    "en": frozenset(
        (
            "a an the of and or but to in on at by for with from into onto as is are was were be been being am do does did "
            "done has have had having will would shall should may might must can could this that these those it its he "
            "she they them their his her him we us our you your i my me who whom whose which what when where why how there "
            "here so then than if unless because since while although though also too very just still yet not no nor s t "
            "such both either neither each every all any some same other another about around up down out over under "
            "between through during before after again only own own's 's one's oneself itself himself herself themselves "
            "one ones get got make made let go goes went gone come came take took taken give given say said use used "
            "yes hence thus therefore however moreover whereas whether upon within without via per"
        ).split()
    ),
    "de": frozenset(
        (
            "der die das den dem des ein eine einen einem einer eines und oder aber sondern denn doch weil da dass daß ob wenn "
            "als wie so auch noch nur schon sehr mehr man es er sie ihr ihm ihn ihnen ihre ihren ihrem ihrer ihres sein seine seinen "
            "seinem seiner seines wir uns unser ich du mein dein ist sind war waren wird werden wurde wurden worden sein bin "
            "gewesen hat haben hatte hatten habe kann können konnte konnten muss müssen darf dürfen soll sollen sollte mag mögen will "
            "wollen in im ins an am auf aus bei beim mit nach von vom vor zu zum zur über unter durch für gegen ohne um bis seit "
            "zwischen während dann dabei dazu daher deshalb darum damit danach davon darin dort hier nicht kein keine keinen "
            "keinem keiner dies diese dieser dieses diesen diesem jener jene jenes welche welcher welches was wer wo wann "
            "warum wieso wohin woher wessen sich selbst etwa ja nein beide beiden gibt geben machen lassen stehen kommen dessen deren"
        ).split()
    ),
    "fr": frozenset(
        (
            "le la les l un une des de du d et ou mais donc or ni car à au aux en dans sur sous par pour avec sans chez vers "
            "entre que qu qui quoi dont où ce cet cette ces c cela ça il elle ils elles on nous vous je tu me te se s y lui leur "
            "leurs son sa ses mon ma mes notre nos votre vos est sont était étaient être été fut furent sera seront soit a ont "
            "avait avaient avoir eu aura peut peuvent pouvait doit doivent devait faut ne pas plus non si comme quand lorsque "
            "lorsqu puisque parce afin alors aussi encore très bien même tout toute tous toutes quel quelle quels quelles "
            "faire fait font ainsi celui celle ceux celles oui comment pourquoi combien après avant aussi il'y n m t j lequel "
            "aller mettre venir avoir être devoir pouvoir falloir"
        ).split()
    ),
    "es": frozenset(
        (
            "el la los las un una unos unas de del y o u pero sino porque pues que quien cual cuyo donde cuando como si a al en "
            "con sin por para sobre entre hasta desde lo le les se me te nos su sus mi tu este esta estos estas ese esa eso esto "
            "aquel es son era eran ser sido fue fueron será está están estar ha han había haber hay puede pueden poder debe "
            "deben deber no ni ya muy más menos también tampoco así entonces luego todo toda todos todas cada qué quién cuál "
            "cuándo dónde cómo tener tiene hacer hace dar sí"
        ).split()
    ),
    "zh": frozenset("的 了 是 在 和 与 也 就 都 而 及 或 把 被 对 之 其 这 那 有 从 为 以 于".split()),
}

SCAFFOLD = (
    r"student|teacher|question|answer|q|a|b|notes?|lecturer|expert|child|host|guest|key points?|summary|remark|claim|proof"
    r"|solution|check|example|restate|define|derive|problem|note|interviewer|reader|lehrer(?:in)?|schüler(?:in)?|frage|antwort"
    r"|merke|lösung|probe|aufgabe|beweis|professeur|élève|réponse|rappel|solution|preuve|exemple|alumno|profesora?|pregunta"
    r"|respuesta|solución|nota|问|答|老师|学生|解|注"
)
"""Labels before a colon that a rewriting may add: speakers, parts of a note."""

NEGATORS: dict[str, frozenset[str]] = {
    "en": frozenset(
        (
            "not no never none nobody nothing nowhere neither nor cannot without don't doesn't didn't isn't aren't wasn't "
            "weren't won't wouldn't can't couldn't shouldn't mustn't hasn't haven't hadn't needn't non ain't n't"
        ).split()
    ),
    "de": frozenset(
        "nicht kein keine keinen keinem keiner keines nie niemals niemand niemanden nichts ohne weder nirgends nein".split()
    ),
    "fr": frozenset("pas jamais aucun aucune rien personne nul nulle sans ni guère non".split()),
    "es": frozenset("no nunca jamás ningún ninguno ninguna nadie nada sin ni tampoco".split()),
    "zh": frozenset("不 没 无 未 非 勿 莫 否".split()),
}

NEGATIVE_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(
        (
            "lack lacks lacked refuse fail fails failed unable unknown impossible absent absence avoid prevent stop cease "
            "rarely seldom hardly few unless except false free exclude deny invalid undefined lost "
            "unlike otherwise less first against forbidden forbid prohibited prohibit banned ban unaware spare spares spared save saves "
            "reject rejects rejected decline declines ignore ignores ignored disregard disregarded miss missing exempt instead rather optional "
            "stay stays contradict contradicts loses lose losing avoids avoided withheld suspended abolished extinct wrong bad stops stopped "
            "nor exclusive except besides too dispense waive skip skips withdrawn excluded excludes omit omitted unaffected"
        ).split()
    ),
    "de": frozenset(
        (
            "fehlen fehlt mangeln verweigern unmöglich unbekannt selten kaum außer ausgenommen falsch verhindern vermeiden "
            "aufhören meiden weniger erste ersten erster erstes gegen verboten verbieten untersagt gleich frei zu geschlossen statt abhalten hält ersparen erspart sparen spart "
            "lehnen lehnt ablehnen ablehnt missachten verzichten verzichtet gesperrt sperrt anstatt ausgeschlossen vermeidet ungern frei "
            "widerspricht ausgestorben verloren verliert verlieren nur erst einzig einzige einziger zuwider entfällt ausfallen fällt aus unverändert"
        ).split()
    ),
    "fr": frozenset(
        "manquer refuser impossible inconnu rarement sauf faux empêcher éviter cesser inutilisable gratuit excepté moins premier première perdre interdit contre interdire "
        "renoncer renonce lieu hors manque absence prive dépourvu seul seule seulement uniquement dispensé exclu exclut cesse sinon fausse plutôt gratuitement gratuit".split()
    ),
    "es": frozenset(
        "faltar carecer carece imposible desconocido rara raro salvo falso falsa evitar impedir dejar gratis prohibido prohibida menos excepto lugar "
        "solo sólo solamente únicamente único única rechazar rechaza perder pierde contra vez apenas sino libre".split()
    ),
    "zh": frozenset("缺 禁 仅 只".split()),
}
"""Words that deny without a negator; where they stand, the negation rules are content."""

NEGATIVE_PREFIXES: dict[str, tuple[str, ...]] = {
    "en": ("un", "in", "im", "ir", "il", "non", "dis"),
    "de": ("un", "nicht"),
    "fr": ("in", "im", "ir", "non"),
    "es": ("in", "im", "des"),
    "zh": (),
}

COVERS: dict[str, frozenset[str]] = {
    "en": frozenset(
        "only than less fewer unless until before other but even rather else too whether last".split()
    ),
    "de": frozenset(
        "nur weniger als erst bis bevor sonst außer andere anderen einzige allein selbst zu ob letzte".split()
    ),
    "fr": frozenset("seul seule seulement moins que avant autre sinon même trop sauf".split()),
    "es": frozenset("solo sólo menos antes otro otra salvo sino demasiado aunque".split()),
    "zh": frozenset(),
}
"""Words that limit or contrast: where they stand, a denial may be said in another way."""

PHRASES: dict[str, tuple[tuple[str, str], ...]] = {
    "en": (
        (r"not (?:many|much|often)\b", "few"),
        (r"not (?:all|every|everyone|everybody|everything|always)\b", "some"),
        (
            r"at (?:the )?(?:most|maximum)|no (?:more|longer|higher|later|faster|greater|larger|bigger|older) than|not more than|up to"
            r"|or (?:less|below|fewer|lower)\b(?! than)|as (?:much|many|long|high|far) as|once (?:a|per) \w+ is the most",
            "bound-",
        ),
        (
            r"at (?:the )?(?:least|minimum)|no (?:less|fewer|lower|shorter|earlier|smaller) than|not less than|or (?:more|above|higher)\b(?! than)",
            "bound+",
        ),
        (
            r"all (?:right|by (?:him|her|it|them)sel\w+|the (?:while|same|more)|in all|day|night|year)|at all|above all|after all|in all",
            "idiom",
        ),
        (
            r"every (?=\d|other|few|half|quarter|two|three|four|five|six|ten|twenty)|the whole time|how often",
            "idiom",
        ),
        (r"(?:in)?finitely many|how (?:many|much)|as much|too (?:many|much)", "idiom"),
        (r"a (?:few|number of|couple of)|some of the", "some"),
        (r"the (?:vast )?majority|for the most part|more often than not|as a rule|most of the", "most"),
        (
            r"only if|only when|only by|not (?:before|until)|no \w+ (?:except|but)|nothing but|none but",
            "only",
        ),
        (r"(?:less|not as) well", "quality-"),
        (r"more slowly|less quickly|less fast", "speed-"),
        (r"more quickly|more rapidly", "speed+"),
        (r"more than half|over half", "most"),
        (r"not as \w+ as|less \w+ than|not so \w+ as", "amount-"),
        (r"(?:is|are) (?:able|possible)|it is possible|in a position to|(?:is|are) allowed", "may"),
        (r"(?:has|have|had) to\b|(?:is|are|was|were) (?:required|obliged|needed|necessary)|it takes", "must"),
        (r"is not known|are not known|(?:is|are) unknown", "no"),
    ),
    "de": (
        (r"nicht (?:viele|oft)\b", "few"),
        (r"nicht (?:alle|jede[rsmn]?|immer)\b", "some"),
        (r"nicht (?:mehr|schneller|länger|höher|größer|später) als|bis zu|nicht über", "bound-"),
        (r"nicht (?:weniger|kürzer|niedriger|kleiner|früher) als", "bound+"),
        (
            r"vor allem|immer wieder|beliebig oft|so oft|unbegrenzt oft|alles in allem|wie (?:viele?|oft)",
            "idiom",
        ),
        (r"(?:über|unter) (?=\d)", "idiom"),
        (
            r"die meisten|(?:der|die) mehrzahl|der größte teil|die mehrheit|die mehrzahl|mehr als die hälfte",
            "most",
        ),
        (r"ist es möglich|möglich ist|in der lage", "may"),
        (r"ist nötig|sind nötig|ist erforderlich|(?:hat|haben) \w* ?zu \w+en", "must"),
        (r"nur wer|nur wenn|erst wenn|und nur dann", "only"),
    ),
    "fr": (
        (r"pas (?:tous|toutes|toujours)\b", "some"),
        (r"au (?:plus|maximum)|pas plus (?:de|que)|jusqu['’]à", "bound-"),
        (r"au (?:moins|minimum)|d['’]au moins|pas moins (?:de|que)", "bound+"),
        (
            r"à peu près|peu à peu|un peu|tout à fait|tout de suite|tous deux|toutes deux|plus ou moins",
            "idiom",
        ),
        (r"la plupart|la majorité|le plus souvent", "most"),
        (r"il (?:est|arrive) (?:possible )?que|est possible", "may"),
        (r"(?:est|sont) tenue?s? de|il faut|a besoin de?|on a besoin|(?:est|sont) nécessaires?", "must"),
        (r"ne \w+ (?:encore )?que\b|n['’]\w+ (?:encore )?que\b|n['’]est que", "only"),
        (r"ne \w+ plus\b|n['’]\w+ plus\b", "no"),
        (r"s['’]ils?\b", "if"),
        (r"plus de la moitié|plus d['’]un sur deux", "most"),
        (r"moins bien", "quality-"),
        (r"moins (?:de|que|\\w+ que)", "amount-"),
    ),
    "es": (
        (r"como máximo|a lo sumo|no más de|hasta", "bound-"),
        (r"al menos|por lo menos|como mínimo|no menos de", "bound+"),
        (r"cada (?=\d|dos|tres|cuatro|cinco|diez|media)", "idiom"),
        (r"no (?:todos|todas|siempre)\b", "some"),
        (r"sobre todo|más o menos|de todos modos|poco a poco|ante todo", "idiom"),
        (r"la mayoría|la mayor parte|más de la mitad", "most"),
        (r"tiene que|tienen que|hay que|es necesario", "must"),
    ),
    "zh": (
        (r"至多|最多|不超过|不大于", "bound-"),
        (r"至少|最少|不少于|不小于", "bound+"),
        (r"大多数|大部分|多数", "most"),
    ),
}
"""Phrases that count as one cue: (regular expression, cue); tried before single words."""

CUES: dict[str, dict[str, str]] = {
    "en": {
        "all": "all every each always everybody everyone everything whenever entire whole both invariably",
        "most": "most mostly usually mainly chiefly largely typically generally normally majority primarily",
        "many": "many much often frequently numerous lots commonly",
        "some": "some several certain sometimes occasionally various",
        "few": "few rarely rare seldom hardly scarcely",
        "no": "no none nobody nothing never neither nor nowhere without",
        "only": "only solely alone exclusively just sole merely",
        "may": "may might could possibly perhaps potentially possible maybe likely probably possibility",
        "can": "can able allowed permitted allow",
        "must": "must shall required requires require need needs mandatory obliged demand demands necessary needed",
        "should": "should ought advise advises advised recommended recommend",
        "amount+": (
            "more higher larger greater bigger increase increases increased rise rises rose risen rising grow grows grew "
            "grown exceed exceeds exceeded above longer taller heavier further beyond raise raised raises climb climbed gain gained "
            "expand expands expanded surpass increasing growing growth doubled extended"
        ),
        "amount-": (
            "less lower smaller fewer decrease decreases decreased fall falls fell fallen falling shrink shrinks shrank "
            "drop drops dropped below under shorter lighter reduce reduces reduced decline declined declines lowers lowered cut "
            "younger shrunk diminished decreasing reduction shortened contract contracts"
        ),
        "quality+": "better best",
        "quality-": "worse worst",
        "time-": "before earlier early prior sooner",
        "time+": "after later late afterwards subsequently",
        "speed+": "faster quickly quick fast rapidly rapid quicker",
        "speed-": "slower slowly slow",
        "strength+": "stronger strongest strong",
        "strength-": "weaker weakest weak",
        "size+": "largest biggest highest longest heaviest maximum tallest",
        "size-": "smallest lowest shortest lightest minimum",
        "north+": "north northern northward",
        "north-": "south southern southward",
        "east+": "east eastern",
        "east-": "west western",
        "left+": "left",
        "left-": "right",
        "in+": "inside within import imports imported indoor",
        "in-": "outside export exports exported outdoor",
        "open+": "open opens opened",
        "open-": "close closes closed shut",
        "sign+": "positive",
        "sign-": "negative",
        "even+": "even",
        "even-": "odd",
        "true+": "true",
        "true-": "false",
        "warm+": "warm warmer hot hotter",
        "warm-": "cold colder cool cooler",
        "age+": "older old oldest",
        "age-": "newer new newest young",
        "light+": "bright brighter light",
        "light-": "dark darker",
        "hard+": "harder hard difficult",
        "hard-": "easier easy simple",
        "cheap+": "cheaper cheap inexpensive",
        "cheap-": "expensive dearer costly",
        "deep+": "deeper deep",
        "deep-": "shallower shallow",
        "wide+": "wider wide broad broader",
        "wide-": "narrower narrow",
        "thick+": "thicker thick",
        "thick-": "thinner thin",
        "near+": "nearer near closer",
        "near-": "farther far",
        "rich+": "richer rich",
        "rich-": "poorer poor",
        "wet+": "wet wetter damp humid",
        "wet-": "dry drier",
        "win+": "won win wins",
        "win-": "lost loses defeat defeated",
        "if": "if unless provided except otherwise assuming",
        "when": "when where once whenever should until suppose case for with in under than during let given excepted as whereupon by "
        "while which that who whose having",
    },
    "de": {
        "all": "alle alles jeder jede jedes jeden jedem immer sämtliche sämtlichen ganze ganzen täglich beide stets aller allen",
        "most": "mehrzahl mehrheit großteil großteils meist meistens meisten hauptsächlich überwiegend größtenteils vorwiegend",
        "many": "viele vielen vieler oft häufig zahlreiche viel",
        "some": "einige einigen manche manchen mehrere manchmal gelegentlich",
        "few": "wenige wenigen selten kaum wenig",
        "no": "kein keine keinen keinem keiner nie niemals niemand nichts weder ohne keines",
        "only": "nur ausschließlich allein lediglich bloß",
        "may": "kann können könnte könnten darf dürfen möglich vielleicht möglicherweise erlaubt schafft imstande fähig erlaubnisfrei berechtigt",
        "must": "muss müssen nötig erforderlich notwendig",
        "should": "soll sollte sollten sollen",
        "amount+": (
            "mehr höher größer steigt stieg gestiegen steigen über wächst wuchs gewachsen länger schwerer zunehmen zugenommen erhöht "
            "übersteigt mehr anstieg verlängerte verlängert teurer steigend"
        ),
        "amount-": (
            "weniger niedriger kleiner sinkt sank gesunken sinken unter kürzer leichter abgenommen verringert fällt fiel gefallen "
            "kürzte kürzer zurück ging billiger gering geringer kälter"
        ),
        "quality+": "besser bester besten",
        "quality-": "schlechter schlechtesten",
        "bound+": "mindestens wenigstens",
        "bound-": "höchstens maximal",
        "time-": "vor früher zuvor vorher",
        "time+": "nach später danach nachher",
        "speed+": "schneller schnell",
        "speed-": "langsamer langsam",
        "north+": "norden nördlich nordwärts",
        "north-": "süden südlich südwärts",
        "sign+": "positiv positive",
        "sign-": "negativ negative",
        "open+": "offen öffnet geöffnet",
        "open-": "geschlossen schließt zu",
        "if": "wenn falls sofern außer ausgenommen solange soweit",
        "when": "sobald bei wer als steigt sinkt im nach vor ohne mit unter über da und täglich der die das durch samstags sonntags nur",
    },
    "fr": {
        "all": "tous toutes tout toute chaque toujours entier entière quel",
        "most": "plupart majorité surtout principalement généralement habituellement principaux",
        "many": "beaucoup souvent nombreux nombreuses",
        "some": "certains certaines quelques parfois plusieurs",
        "few": "peu rarement rare rares guère",
        "no": "aucun aucune jamais personne rien sans nul nulle ni",
        "only": "seulement uniquement seul seule exclusivement ne_que",
        "may": "peut peuvent pourrait possible possibles peut-être permet pouvez pouvons puis capable capables droit",
        "must": "doit doivent faut falloir nécessaire nécessaires nécessaire devait exige",
        "should": "devrait devraient",
        "amount+": "plus supérieur supérieure augmenté augmente augmentation hausse monte monter haute haut élevée élevé dépasse grandes delà",
        "amount-": "moins inférieur inférieure baissé baisse diminué diminue diminution basse bas perdu descendre réduit dessous",
        "quality+": "mieux meilleur meilleure",
        "quality-": "pire pis",
        "time-": "avant",
        "time+": "après",
        "age+": "ancien ancienne anciens",
        "age-": "récent récente nouveau",
        "north+": "nord",
        "north-": "sud",
        "if": "si sauf excepté hormis condition pourvu moyennant",
        "when": "quand lorsque lorsqu qui dès cas seulement en sous pour que avec où sinon un une ne",
    },
    "es": {
        "all": "todos todas todo toda cada siempre ambos",
        "most": "mayoría generalmente principalmente normalmente",
        "many": "muchos muchas mucho mucha numerosos",
        "some": "algunos algunas varios varias",
        "few": "pocos pocas raramente poco",
        "no": "ningún ninguno ninguna nunca nadie nada sin jamás",
        "only": "solo sólo solamente únicamente único",
        "may": "puede pueden podría posible quizás",
        "must": "debe deben necesario obligatorio",
        "amount+": "más mayor mayores aumenta aumentó crece creció sube subió supera encima",
        "amount-": "menos menor menores disminuye disminuyó baja bajó debajo",
        "time-": "antes",
        "time+": "después tras",
        "if": "si salvo excepto siempre_que",
        "when": "cuando en al que con",
    },
    "zh": {
        "all": "都 皆 每 全 所有 任意",
        "may": "可 能",
        "must": "须 必",
        "amount+": "大 多 高 增 升",
        "amount-": "小 少 低 减 降",
        "time-": "前",
        "time+": "后",
        "if": "若 如",
        "when": "当 则 时",
        "only": "只 仅",
    },
}
"""Words that count as a cue, by cue. Cues that end in + and - are the two directions of one axis."""

GENERIC = frozenset(
    (
        "thing things point points kind kinds reason reasons step steps part parts way ways case cases ding dinge punkte arten "
        "gründe schritte teile fälle choses points raisons étapes parties cas cosas puntos razones pasos partes casos"
    ).split()
)
"""Words that count what is then listed."""
