import configparser


def set_value(path, section, key, value):
    """Changes one value in an INI file."""
    parser = configparser.ConfigParser()
    parser.read(path)
    if not parser.has_section(section):
        parser.add_section(section)
    parser[section][key] = value
    with open(path, "w") as file:
        parser.write(file)
