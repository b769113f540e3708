"""Common given names, and the gender that each tells: what a small tagger doesn't know of persons.

A name that men and women bear, or that is an everyday word or a place as often ("Jordan", "Will", "Rose"),
is left out: the lists are for what they settle alone.
"""

from functools import cache

_MEN = """
aaron abdul abdullah abraham adam adrian ahmad ahmed aidan alan alastair albert alberto alejandro alexander alf alfred
ali alistair allan allen alvaro anatoly anders andre andreas andrei andrew andrzej angus anthony antoine anton antonio
archie arjun arnold arthur arturo asif barry bartholomew ben benedict benjamin bernard bernie bogdan boris brandon
brendan brian bruce bruno bryan callum carl carlos cedric cesar charles christophe christopher claude clive colin
connor craig curtis cyril damian damien daniel danny darren dave david dennis derek dermot desmond didier diego dieter
dirk dmitri dmitry dominic donald douglas duncan dwayne dwight edgar edmund eduard eduardo edward edwin elijah
emmanuel enrique eric erik ernest ernesto eugene fabio farouk felipe felix fernando francesco francisco franz fred
frederick friedrich gareth gary gavin geoff geoffrey george gerald gerard gilbert giles giovanni giuseppe gordon
graeme graham greg gregory guillermo gunther gustav gustavo hamid hans harold harry harvey hassan hector heinrich
helmut henri henrik henry herbert hernan hiroshi howard hugh hugo hussein huw ian ibrahim igor imran isaac ivan jacob
jacques jaime jake jamal james jason javier jeff jeffrey jens jeremy jerome jerry jesse jim jimmy joachim joe joel
johan johann johannes john johnny jonathan jorge jose joseph joshua juan julian julio justin kareem karim karl keith
kenneth kenny kevin khalid klaus kofi konstantin kurt kyle lars laurence lawrence leo leon leonard leonardo liam
lionel lorenzo louis luca lucas ludwig luis luke magnus mahmoud malcolm manuel marc marcel marcus mario marius martin
marvin mateo mathias matteo matthew matthias maurice max maximilian michael miguel mike mikhail miles mohamed mohammad
mohammed muhammad mustafa narendra nathan nathaniel neil nelson nicholas nicolas niels nigel nikolai norman oleg
oliver olivier omar osama otto owen pablo paolo patrick paul pavel pedro pete peter phil philip philippe pierre piers
piotr pyotr quentin rafael raj rajiv ralph ramon randall raoul raul raymond rene ricardo richard rick robert roberto
rodrigo roger roland rolf ron ronald rory rudolf rufus rupert russell ryan salman samuel saul sean sebastian sergei
sergey sergio seth shaun silvio simon stanislav stefan stephen steve steven stewart stuart sven tariq ted terence
theodore thierry thomas tim timothy tobias toby tom tommy tony trevor tyler umar viktor vincent vincenzo vladimir
walter wayne werner wilfred wilhelm william winston wolfgang xavier yasser yevgeny yuri yusuf zachary zbigniew
"""
_WOMEN = """
abigail adele agatha agnes aisha alexandra alice alicia alison amanda amelia amy ana anastasia angela angelica anita
ann anna annabel anne anneliese annette annie antonia audrey barbara beatrice beatriz belinda bernadette beth bethany
betty brenda bridget britney camilla carla carmen carol carolina caroline carolyn catherine cathy cecilia celia cheryl
christina christine cindy claire clara claudia colleen constance cristina cynthia daniela danielle debbie deborah
deirdre denise diana diane donna dora doreen doris dorothy edith eileen elaine eleanor elena elisabeth elizabeth ella
ellen eloise elsa elvira emilia emily emma erica erika esther ethel eva evelyn fatima felicity fiona frances francesca
gabriela gail georgina geraldine gertrude gillian gina giulia gladys glenda gloria greta gretchen gwen gwyneth hannah
harriet hazel heather heidi helen helena helga henrietta hilary hilda hillary imogen ines ingrid irene irina isabel
isabella isabelle jacqueline jane janet janice janine jeanette jenna jennifer jenny jessica jill joan joanna joanne
josephine joyce juanita judith judy julia juliana julie juliet karen kate katerina katharine katherine kathleen
kathryn kathy katie katrina katya kerstin kimberly kirsten kirsty kristen kristina larissa laura lauren leila lena
leticia linda lisa liz liza lorraine louise lucia lucille lucinda lucy ludmila luisa lydia lynn lynne madeleine
magdalena maggie malala marcia margaret margarita margot marguerite maria mariana marianne marie marilyn marjorie
marlene marta martha martina mary matilda maureen megan melanie melissa michaela michelle mildred miranda miriam moira
molly monica muriel nadia nadine nancy naomi natalia natalie natasha nelida nicole nina nora noreen norma olga olivia
pamela patricia patsy paula pauline peggy penelope petra philippa phyllis rachel ramona rebecca regina rhiannon rita
roberta rosa rosalind rosemary rosie roxanne ruth samantha sandra sara sarah sharon sheila shirley silvia sonia sophia
sophie stella stephanie susan susanna suzanne svetlana sylvia tamara tamsin tanya tara tatiana teresa theresa tina
tove tracey tricia ulrike una ursula valentina valeria valerie vanessa vera veronica violet wanda wendy winifred
yolanda yvette yvonne zara zoe
"""


@cache
def _genders() -> dict[str, str]:
    women = set(_WOMEN.split())
    men = set(_MEN.split())
    return {name: "man" for name in men - women} | {name: "woman" for name in women - men}


def gender_of(word: str) -> str:
    """ "man" or "woman" for a given name in normal form ("zoe"), "" for any other word."""
    return _genders().get(word, "")


def is_given_name(word: str) -> bool:
    """Whether a word in normal form is a common given name."""
    return word in _genders()
