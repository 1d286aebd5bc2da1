"""Members of one class that exclude each other: where copper stands and zinc stood, something has changed.

A class is a closed one (seasons, metals, organs …); `=` joins the words of one member in the languages that the rules
know. Plain data, below, and the one rule on it. Two signs make a finding: a member that only the source names, and
another one that only the rewriting names.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.analysis import Analysis, Token

_CLASSES: dict[str, str] = {
    "season": "spring=frühling=frühjahr=printemps=primavera summer=sommer=été=verano autumn=herbst=automne=otoño winter=hiver=invierno",
    "daytime": "morning=vormittag=matin afternoon=nachmittag=après-midi evening=abend=soir night=nacht=nuit=noche=nachts",
    "metal": "iron=eisen=fer=hierro copper=kupfer=cuivre=cobre zinc=zink=cinc tin=zinn=étain=estaño silver=silber=argent=plata "
    "gold=or=oro aluminum=aluminium=aluminio nickel=níquel platinum=platin=platine mercury=quecksilber=mercure",
    "element": "radium polonium=polonio uranium=uran thorium plutonium",
    "gas": "oxygen=sauerstoff=oxygène=oxígeno nitrogen=stickstoff=azote=nitrógeno hydrogen=wasserstoff=hydrogène=hidrógeno helium=hélium=helio methane=methan=méthane=metano",
    "fuel": "oil=öl=erdöl=petroleum=pétrole=petróleo coal=kohle=charbon=carbón peat=torf=tourbe diesel gasoline=petrol=benzin=essence=gasolina",
    "animal": "dog=hund=chien=perro cat=katze=chat=gato horse=pferd=cheval=caballo=chevaux=mare cow=kuh=vache=vaca=cattle pig=schwein=cochon=cerdo "
    "sheep=schaf=mouton=oveja goat=ziege=chèvre=cabra wolf=loup=lobo fox=fuchs=renard=zorro elephant=elefant=éléphant=elefante "
    "lion=löwe=león tiger=tigre mouse=maus=souris=ratón rabbit=kaninchen=lapin=conejo hedgehog=igel=hérisson=erizo "
    "squirrel=eichhörnchen=écureuil=ardilla beaver=biber=castor otter=fischotter=loutre=nutria bat=fledermaus=murciélago",
    "bird": "eagle=adler=aigle=águila owl=eule=hibou=búho stork=storch=cigogne=cigüeña sparrow=spatz=sperling=moineau swan=schwan=cygne=cisne "
    "hummingbird=kolibri=colibri=colibrí crow=krähe=corneille raven=rabe=corbeau gull=seagull=möwe=mouette parrot=papagei=perroquet=loro quetzal toucan=tucán",
    "fish": "salmon=lachs=saumon=salmón trout=forelle=truite=trucha sturgeon=stör=esturgeon=esturión cod=kabeljau=dorsch herring=hering=hareng eel=aal=anguille carp=karpfen=carpe tuna=thunfisch=thon",
    "insect": "bee=honeybee=biene=honigbiene=abeille=abeja bumblebee=hummel=bourdon=abejorro wasp=wespe=guêpe=avispa ant=ameise=fourmi=hormiga "
    "butterfly=schmetterling=papillon=mariposa beetle=käfer mosquito=mücke=moustique",
    "organ": "liver=leber=foie=hígado kidney=niere=riñón lung=lunge=poumon=pulmón pancreas=bauchspeicheldrüse=pancréas=páncreas stomach=magen=estomac=estómago spleen=milz=rate=bazo",
    "cell": "mitochondrion=mitochondria=mitochondrien=mitochondrie chloroplast=chloroplasts=chloroplasten=chloroplaste ribosome=ribosomes=ribosomen",
    "planet": "venus jupiter=júpiter saturn=saturne=saturno uranus=urano neptune=neptun=neptuno pluto=pluton=plutón",
    "grain": "wheat=weizen=blé=trigo rye=roggen=seigle=centeno barley=gerste=orge=cebada oat=oats=hafer=avoine=avena rice=reis=riz=arroz maize=corn=mais=maïs=maíz",
    "drink": "milk=milch=lait=leche coffee=kaffee=café tea=tee=thé=té beer=bier=bière=cerveza wine=wein=vin=vino",
    "tree": "oak=eiche=chêne=roble beech=buche=hêtre=haya birch=birke=bouleau=abedul pine=kiefer=pin=pino spruce=fichte=épicéa fir=tanne=sapin=abeto "
    "willow=weide=saule=sauce aspen=espe maple=ahorn=érable=arce elm=ulme=orme=olmo poplar=pappel=peuplier=chopo",
    "color": "red=rot=rouge=rojo blue=blau=bleu=azul green=grün=vert=verde yellow=gelb=jaune=amarillo black=schwarz=noir=negro white=weiß=blanc=blanco brown=braun=marron=marrón gray=grey=grau=gris",
    "stone": "granite=granit=granito marble=marmor=marbre=mármol limestone=kalkstein=calcaire=caliza sandstone=sandstein=grès=arenisca basalt=basalte=basalto slate=schiefer=ardoise=pizarra",
    "instrument": "piano=klavier violin=geige=violine=violon=violín cello=violoncelle=chelo flute=flöte=flûte=flauta guitar=gitarre=guitare=guitarra trumpet=trompete=trompette=trompeta",
    "fraction": "numerator=zähler=numérateur=numerador denominator=nenner=dénominateur=denominador",
    "figure": "sine=sinus=seno cosine=cosinus=kosinus=coseno tangent=tangens=tangente",
    "average": "median=médiane=mediana mean=mittelwert=moyenne=media",
    "line": "radius=rayon=radio diameter=durchmesser=diamètre=diámetro circumference=umfang=circonférence=circunferencia",
}
_DATES = frozenset({"season", "daytime"})
_MEMBERS: dict[str, tuple[str, str]] = {
    word: (name, member)
    for name, line in _CLASSES.items()
    for member in line.split()
    for word in member.split("=")
}


def compare_members(source: Analysis, rewrite: Analysis) -> Iterator[Finding]:
    """A finding for each class of which one member has gone and another one has come."""
    ours, theirs = _members(source), _members(rewrite)
    for name in sorted({key[0] for key in ours} & {key[0] for key in theirs}):
        gone = [token for key, token in ours.items() if key[0] == name and key not in theirs]
        new = [token for key, token in theirs.items() if key[0] == name and key not in ours]
        if gone and new:
            yield Finding(
                kind="date" if name in _DATES else "name",
                direction="changed",
                message=f"{gone[0].text!r} became {new[0].text!r}",
                source=_span(gone[0]),
                rewrite=_span(new[0]),
            )


def _members(analysis: Analysis) -> dict[tuple[str, str], Token]:
    found: dict[tuple[str, str], Token] = {}
    for token in analysis.tokens:
        if token.kind == "word":
            key = _MEMBERS.get(token.lower) or _MEMBERS.get(token.lemma)
            if key is not None:
                found.setdefault(key, token)
    return found


def _span(token: Token) -> Span:
    return Span(start=token.start, end=token.end, text=token.text)
