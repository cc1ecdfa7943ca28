package io.pyqbeast;

import java.util.Map;
import java.util.function.Predicate;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;

/** Questions about the tags of a table's files, one file a row. */
public final class TagColumns {
  private TagColumns() {}

  /** Whether a file was written before format 0.6. */
  public static Column areLegacy(Column tags) {
    return asked(tags, FileTags::areLegacy);
  }

  /** Whether a file holds only rows that other files hold too. */
  public static Column areReplicated(Column tags) {
    return asked(tags, ofFile -> FileTags.replicated(ofFile) == FileTags.Replicated.ALL);
  }

  /** A predicate that can be sent to where the rows are. */
  private interface Question extends Predicate<Map<String, String>>, java.io.Serializable {}

  private static Column asked(Column tags, Question question) {
    UDF1<scala.collection.Map<String, String>, Boolean> answer =
        ofFile -> ofFile != null && question.test(Scala.map(ofFile));
    return functions.udf(answer, DataTypes.BooleanType).apply(tags);
  }
}
