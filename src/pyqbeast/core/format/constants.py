"""Constants of the stored format: every name and number that a reader and a writer have to share, and the
numbers and words of rules that stand in Python and in Java.

The build writes these values into a properties file for the Java side, so this module holds plain strings and
numbers only and imports nothing.
"""

from __future__ import annotations

#: Smallest and largest weight of a row or a block: the bounds of a signed 32-bit integer.
WEIGHT_MIN = -(2**31)
WEIGHT_MAX = 2**31 - 1
#: The end of a range that takes all weights: one more than the largest.
WEIGHT_END = WEIGHT_MAX + 1
#: Bounds of the other whole numbers in a stored text: the values of 32-bit columns, and everything else.
INT_MIN = WEIGHT_MIN
INT_MAX = WEIGHT_MAX
LONG_MIN = -(2**63)
LONG_MAX = 2**63 - 1
#: How deep arrays and objects of a stored text may be nested, and how many digits a number in it may have. No
#: writer comes near these bounds. Without them a hostile text could exhaust the reader's stack or cost it much
#: time.
JSON_DEPTH = 100
JSON_DIGITS = 1_000
#: Levels of the deepest cube that is read: a double can be halved so often.
MOST_CUBE_LEVELS = 1_074
#: Symbols of the longest cube id that Java reads. It does not know the number of columns then, and allows 64 symbols a
#: level: enough for 384 columns.
MOST_CUBE_SYMBOLS = 64 * MOST_CUBE_LEVELS
#: fraction = (weight - WEIGHT_OFFSET) / WEIGHT_RANGE, in doubles.
WEIGHT_OFFSET = -2147483648.0
WEIGHT_RANGE = 4294967295.0
#: Seed of Spark's `hash` over the hashed columns, which is the weight of a row.
HASH_SEED = 42
#: Seed of the hash of a weight that puts rows into buckets of keys. The bits of the weight itself would not do,
#: because a query may pick rows by them.
BUCKET_SEED = 1_031_517_029
#: Fractions that people sample by, ascending: 1, 2, 3, 5 and 7 times each power of ten.
COMMON_FRACTIONS = " ".join(f"{m}e-{k}" for k in range(6, 0, -1) for m in (1, 2, 3, 5, 7))
#: Fractions, ascending. The rows of a file are counted by weight between them. They are the common fractions, and the
#: multiples of 1/32 from 1/8 on.
WEIGHT_BORDERS = " ".join(
    str(border) for border in sorted({*map(float, COMMON_FRACTIONS.split())} | {i / 32 for i in range(4, 32)})
)

#: How rarely an even spread of rows over the weights is taken for an uneven one: with a chance of e to the power of
#: minus this.
UNEVEN_EVIDENCE = 20
#: The share of a table that rows of one weight may be, if no writer recorded how many they are.
UNRECORDED_KEY_SHARE = 0.01

#: Keys of the table's configuration.
REVISION_PREFIX = "qbeast.revision."
LAST_REVISION = "qbeast.lastRevisionID"
#: Prefix of keys written before format 0.6, which list the cubes of a revision whose rows were copied to their
#: children.
LEGACY_REPLICATED_SET_PREFIX = "qbeast.replicatedSet."
#: Key that only pyqbeast writes: a command has deleted rows by their weight. From then on the rows that
#: deletion vectors hide may have any weights.
DELETED_BY_WEIGHT = "pyqbeast.deletedByWeight"
#: Key that only pyqbeast writes: rows were written that somebody had chosen by their weight. A file that loses
#: its tags may hold such rows, so its weights are not known to be spread evenly.
CHOSEN_BY_WEIGHT = "pyqbeast.chosenByWeight"
#: Key that only pyqbeast writes: rows were written that somebody had chosen by their weight otherwise than the
#: rows beside them. The lightest rows then do not stand for all.
MIXED_BY_WEIGHT = "pyqbeast.mixedByWeight"
#: Key that users set and only pyqbeast reads: the fractions that the table is to be sampled by.
SAMPLE_FRACTIONS = "pyqbeast.sampleFractions"
#: Options of a write that say how its rows are indexed, in lower case: users write them in any case.
INDEX_OPTIONS = "columnstoindex cubesize columnstats weightcolumns samplefractions"
#: What may stand before them, in any case.
INDEX_OPTION_PREFIX = "qbeast."
#: Beginning of the options of a write that become properties of the table that it makes.
TABLE_PROPERTY = "table.property."
#: Option of a write by which the catalog tells that the statement replaces the table, and not only its rows.
REPLACES_TABLE = "table.isreplaced"
#: Option of a write by which a stream tells that the rows of its batch were worked out from rows of the table.
READS_TABLE = "table.isread"
#: The end of an error's message where nothing was committed. Both languages put it there, and take it off where they go
#: on to say more.
UNCHANGED = "; the table is as it was"
#: The revision of files that carry no index metadata.
STAGING_REVISION = 0

#: Tags of an indexed file.
TAG_REVISION = "revision"
TAG_BLOCKS = "blocks"

#: Tags of an indexed file that other writers do not know: the rows of the most frequent key of the file and the
#: write that made it, the largest weight of the file's rows, how many rows have weights between WEIGHT_BORDERS, and
#: where the parts of the file begin.
TAG_KEY_ROWS = "pyqbeast.keyRows"
TAG_MAX_ROW_WEIGHT = "pyqbeast.heaviest"
TAG_WEIGHTS = "pyqbeast.weights"
TAG_PARTS = "pyqbeast.parts"
KEY_ROWS_WRITE = "write"
KEY_ROWS_ROWS = "rows"

#: Fields of one block inside the `blocks` tag, in the order they are written. `cube` is read as well as
#: `cubeId`.
BLOCK_CUBE_ID = "cubeId"
BLOCK_CUBE = "cube"
BLOCK_MIN_WEIGHT = "minWeight"
BLOCK_MAX_WEIGHT = "maxWeight"
BLOCK_ELEMENT_COUNT = "elementCount"
BLOCK_REPLICATED = "replicated"

#: Tags of a file written before format 0.6, all of them texts; one cube per file.
LEGACY_TAG_STATE = "state"
LEGACY_TAG_CUBE = "cube"
LEGACY_TAG_MIN_WEIGHT = "minWeight"
LEGACY_TAG_MAX_WEIGHT = "maxWeight"
LEGACY_TAG_ELEMENT_COUNT = "elementCount"
#: What every file says of its state. The rows of a cube in one of the latter two were also copied to its children.
STATE_FLOODED = "FLOODED"
STATE_ANNOUNCED = "ANNOUNCED"
STATE_REPLICATED = "REPLICATED"

#: The most columns of an index. A cube has 2^d children, and with more columns no table has enough rows to fill
#: them. `Tree.java` has so many bits for the number of a child.
MAX_COLUMNS = 20
#: Symbols of a cube id, each standing for six bits.
CUBE_SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

#: Names of columns that other writers add to the rows while they write. A table column must not have one of
#: them, see `is_reserved`.
HELPER_WEIGHT = "_qbeastWeight"
HELPER_CUBE = "_qbeastCube"
HELPER_FILE = "_qbeastFileUUID"

#: Endings of the statistics names of a column, in `columnStats` and in the gathered statistics.
STATISTIC_MIN = "_min"
STATISTIC_MAX = "_max"
STATISTIC_QUANTILES = "_quantiles"
STATISTIC_HISTOGRAM = "_histogram"

#: Package that prefixes the class names in a revision.
CLASS_PREFIX = "io.qbeast.core.transform."
#: Prefix in the transformers of a revision with weight columns. A reader that would not hash those columns
#: finds no such class, so it fails instead of taking a wrong sample.
WEIGHTED_CLASS_PREFIX = "io.pyqbeast.weighted."

#: The format's names of data types.
DATA_TYPES = (
    "IntegerDataType LongDataType DoubleDataType FloatDataType DecimalDataType TimestampDataType DateDataType "
    "StringDataType"
)
#: Spark's types and the format's names of them. The format has no names of their own for the last three; their
#: values fit an integer and hash as one. Decimals of all precisions and scales share one name.
FORMAT_TYPES = (
    "int=IntegerDataType bigint=LongDataType double=DoubleDataType float=FloatDataType timestamp=TimestampDataType "
    "date=DateDataType string=StringDataType tinyint=IntegerDataType smallint=IntegerDataType "
    "boolean=IntegerDataType"
)
DECIMAL_TYPE = "DecimalDataType"
#: Types that Spark's `hash` takes, by their names in the JSON of a schema, without what is in brackets.
HASHED_TYPES = (
    "boolean byte short integer long float double decimal string char varchar binary date timestamp "
    "timestamp_ntz void"
)
#: Field of a revision that other writers do not know: columns that are hashed after the indexed columns.
WEIGHT_COLUMNS = "weightColumns"
#: Field of a revision that other writers do not know: its hashed columns as the files hold them. See HashedLayout.java.
HASHED_AS = "hashedAs"
