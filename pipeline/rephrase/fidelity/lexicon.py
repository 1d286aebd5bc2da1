"""Words that carry polarity, condition, quantity and direction, per language (en, de, fr, es, zh).

Plain data: to teach the checker a word, add it here.
"""

from __future__ import annotations

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(
        "the of and to in is are was were that it with for as by at from this which be has have not".split()
    ),
    "de": frozenset(
        "der die das und ist ein eine nicht mit von den dem zu auf im sich wird für wie wenn es sind hat".split()
    ),
    "fr": frozenset(
        "le la les des est et une dans que pour sur par du au avec il elle pas qui ne sont d l on a".split()
    ),
    "es": frozenset("el los las es y una en que para por con del se no son un de lo su está al como".split()),
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
    r"student|teacher|question|answer|q|a|notes?|lecturer|expert|child|host|guest|key points?|summary|remark|claim|proof"
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
        "nicht kein keine keinen keinem keiner keines nie niemals niemand niemanden nichts ohne weder nirgends".split()
    ),
    "fr": frozenset("pas jamais aucun aucune rien personne nul nulle sans ni guère".split()),
    "es": frozenset("no nunca jamás ningún ninguno ninguna nadie nada sin ni tampoco".split()),
    "zh": frozenset("不 没 无 未 非 勿 莫 否".split()),
}

NEGATIVE_WORDS: dict[str, frozenset[str]] = {
    "en": frozenset(
        (
            "lack lacks lacked refuse fail fails failed unable unknown impossible absent absence avoid prevent stop cease "
            "rarely seldom hardly few unless except only alone false free exclude deny rule invalid undefined neither"
        ).split()
    ),
    "de": frozenset(
        "fehlen fehlt mangeln verweigern unmöglich unbekannt selten kaum außer nur falsch verhindern vermeiden aufhören".split()
    ),
    "fr": frozenset(
        "manquer refuser impossible inconnu rarement sauf seulement faux empêcher éviter cesser ne inutilisable".split()
    ),
    "es": frozenset(
        "faltar carecer imposible desconocido rara salvo solo falso evitar impedir dejar".split()
    ),
    "zh": frozenset("缺 禁 仅 只".split()),
}
"""Words that deny without a negator; they keep the negation rules silent where they stand."""
