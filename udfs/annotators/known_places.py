"""Names of countries, their capitals, and the states of the USA that are hardly ever anything else.

A name that is also an everyday word, a given name or a surname ("Turkey", "Chad", "Jordan", "Georgia", "Washington")
is left out. Forms are as newspapers write them.
"""

import re

_COUNTRIES = """
Afghanistan Albania Algeria Andorra Angola Argentina Armenia Australia Austria Azerbaijan Bahamas Bahrain Bangladesh
Barbados Belarus Belgium Belize Benin Bhutan Bolivia Botswana Brazil Britain Brunei Bulgaria Burundi Cambodia Cameroon
Canada Chile China Colombia Croatia Cuba Cyprus Denmark Djibouti Ecuador Egypt England Eritrea Estonia Ethiopia Fiji
Finland France Gabon Gambia Germany Ghana Greece Greenland Grenada Guatemala Guinea Guyana Haiti Honduras Hungary
Iceland India Indonesia Iran Iraq Ireland Italy Jamaica Japan Kazakhstan Kenya Kiribati Kosovo Kuwait Kyrgyzstan Laos
Latvia Lebanon Lesotho Liberia Libya Liechtenstein Lithuania Luxembourg Macedonia Madagascar Malawi Malaysia Maldives
Malta Mauritania Mauritius Mexico Moldova Monaco Mongolia Montenegro Morocco Mozambique Myanmar Namibia Nepal
Netherlands Nicaragua Nigeria Norway Pakistan Palestine Panama Paraguay Peru Philippines Poland Portugal Qatar Romania
Russia Rwanda Samoa Scotland Senegal Serbia Seychelles Singapore Slovakia Slovenia Somalia Spain Sudan Suriname Sweden
Switzerland Syria Taiwan Tajikistan Tanzania Thailand Togo Tonga Tunisia Turkmenistan Uganda Ukraine Uruguay Uzbekistan
Vanuatu Venezuela Vietnam Yemen Zambia Zimbabwe
Burkina_Faso Costa_Rica Czech_Republic Dominican_Republic El_Salvador Equatorial_Guinea Ivory_Coast New_Zealand
Papua_New_Guinea San_Marino Saudi_Arabia Sierra_Leone Solomon_Islands South_Africa Sri_Lanka United_Arab_Emirates
United_Kingdom United_States Northern_Ireland North_Korea South_Korea Central_African_Republic
"""
_CAPITALS = """
Abuja Accra Ankara Athens Baghdad Baku Bamako Bangkok Beijing Beirut Belgrade Berlin Bogota Bogotá Brasilia Bratislava
Brussels Bucharest Budapest Cairo Canberra Caracas Copenhagen Dakar Damascus Dhaka Doha Dublin Hanoi Harare Havana
Helsinki Islamabad Jakarta Jerusalem Kabul Kampala Kathmandu Khartoum Kiev Kyiv Kinshasa Lisbon Ljubljana London
Luanda Lusaka Madrid Managua Manila Minsk Mogadishu Montevideo Moscow Nairobi Oslo Ottawa Prague Pretoria Pyongyang
Reykjavik Riga Riyadh Rome Sarajevo Seoul Skopje Stockholm Tallinn Tashkent Tbilisi Tehran Tirana Tokyo Tripoli Tunis
Vienna Vilnius Warsaw Yerevan Zagreb Buenos_Aires Kuala_Lumpur New_Delhi Mexico_City
"""
_STATES = """
Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Hawaii Idaho Illinois Indiana Iowa
Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi Missouri Nebraska Nevada Ohio
Oklahoma Oregon Pennsylvania Tennessee Texas Utah Vermont Wisconsin Wyoming New_Hampshire New_Jersey New_Mexico
North_Carolina North_Dakota Rhode_Island South_Carolina South_Dakota West_Virginia
"""
_NAMES = [name.replace("_", " ") for name in f"{_COUNTRIES} {_CAPITALS} {_STATES}".split()]
_FOLDED = frozenset(name.casefold() for name in _NAMES)

KNOWN_PLACE = re.compile(
    rf"(?<![\w\u2019'-])(?:{'|'.join(sorted(map(re.escape, _NAMES), key=len, reverse=True))})(?![\w-])"
)
"""One of them, as whole words."""


def is_known_place(name: str) -> bool:
    """Whether a name, however written, is one of them."""
    return name.casefold() in _FOLDED
