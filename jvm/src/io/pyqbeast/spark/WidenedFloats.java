package io.pyqbeast.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.TypeWideningMetadata;
import org.apache.spark.sql.delta.stats.DeltaStatistics;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Columns of doubles that once were columns of floats. Statistics tell a float by its shortest text, such as 571.0469 for
 * 571.046875, and as a double that text is another number: bounds read in this way leave files out whose rows meet a
 * condition.
 */
public final class WidenedFloats {
  private static final String STATISTICS = "stats";

  private WidenedFloats() {}

  /** Whether a table has such a column. */
  public static boolean areIn(StructType table) {
    return !paths(table, List.of()).isEmpty();
  }

  /** Whether files may hold a column of a table, by its name in them, as floats. */
  public static boolean mayHold(StructType table, String physicalName) {
    for (StructField field : table.fields()) {
      if (DeltaColumnMapping$.MODULE$.getPhysicalName(field).equals(physicalName)) {
        return field.dataType() instanceof FloatType || wasFloat(field);
      }
    }
    return false;
  }

  /**
   * Files with parsed statistics, whose bounds of such columns hold whether the file has floats or doubles.
   *
   * @param files with a column {@code stats}, as Delta parses it
   */
  static Dataset<Row> bounded(Dataset<Row> files, StructType table) {
    Column statistics = files.col(STATISTICS);
    DataType parsed = files.schema().apply(STATISTICS).dataType();
    for (List<String> path : paths(table, List.of())) {
      for (String bound : List.of(DeltaStatistics.MIN(), DeltaStatistics.MAX())) {
        List<String> place = new ArrayList<>(List.of(bound));
        place.addAll(path);
        if (isIn(parsed, place)) {
          Column asDouble = files.col(quoted(STATISTICS, place));
          Column asFloat = asDouble.cast("float").cast("double");
          statistics =
              statistics.withField(
                  quoted(null, place),
                  bound.equals(DeltaStatistics.MIN())
                      ? functions.least(asDouble, asFloat)
                      : functions.greatest(asDouble, asFloat));
        }
      }
    }
    return files.withColumn(STATISTICS, statistics);
  }

  /** Where statistics have these columns: the names that files have for them, and for the structs around them. */
  private static List<List<String>> paths(StructType fields, List<String> above) {
    List<List<String>> found = new ArrayList<>();
    for (StructField field : fields.fields()) {
      List<String> path = new ArrayList<>(above);
      path.add(DeltaColumnMapping$.MODULE$.getPhysicalName(field));
      if (field.dataType() instanceof StructType inner) {
        found.addAll(paths(inner, path));
      } else if (wasFloat(field)) {
        found.add(path);
      }
    }
    return found;
  }

  private static boolean wasFloat(StructField field) {
    Option<TypeWideningMetadata> widened = TypeWideningMetadata.fromField(field);
    return widened.isDefined()
        && ScalaInterop.list(widened.get().typeChanges()).stream()
            .anyMatch(change -> change.fromType() instanceof FloatType);
  }

  private static boolean isIn(DataType type, List<String> path) {
    if (path.isEmpty()) {
      return true;
    }
    return type instanceof StructType fields
        && fields.getFieldIndex(path.get(0)).isDefined()
        && isIn(fields.apply(path.get(0)).dataType(), path.subList(1, path.size()));
  }

  private static String quoted(String first, List<String> rest) {
    String names = rest.stream().map(name -> "`" + name.replace("`", "``") + "`").collect(Collectors.joining("."));
    return first == null ? names : first + "." + names;
  }
}
