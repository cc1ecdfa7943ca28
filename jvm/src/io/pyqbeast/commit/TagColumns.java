package io.pyqbeast.commit;

import io.pyqbeast.format.Constants;
import io.pyqbeast.format.FileTags;
import io.pyqbeast.index.ReplicatedCubes;
import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Columns that are computed from the tags of a table's files, one file a row. */
public final class TagColumns {
  private static final StructType BLOCK =
      new StructType()
          .add(Constants.BLOCK_CUBE_ID, DataTypes.StringType)
          .add(Constants.BLOCK_MIN_WEIGHT, DataTypes.IntegerType)
          .add(Constants.BLOCK_MAX_WEIGHT, DataTypes.IntegerType)
          .add(Constants.BLOCK_ELEMENT_COUNT, DataTypes.LongType)
          .add(Constants.BLOCK_REPLICATED, DataTypes.BooleanType);

  private TagColumns() {}

  /** The revision of a file; null for a file that has none. */
  public static Column revision(Column tags) {
    UDF1<scala.collection.Map<String, String>, Long> answer =
        ofFile -> ofFile == null ? null : FileTags.revision(ScalaInterop.map(ofFile));
    return functions.udf(answer, DataTypes.LongType).apply(tags);
  }

  /** The blocks of a file, an array of structs; it is empty where the file is not indexed or its tags are damaged. */
  public static Column blocks(Column tags, TableLog log) {
    ReplicatedCubes cubes = log.replicatedCubes();
    UDF1<scala.collection.Map<String, String>, Row[]> answer =
        ofFile -> ofFile == null ? new Row[0] : rows(FileTags.blocks(cubes.truthOf(ScalaInterop.map(ofFile))));
    return functions.udf(answer, DataTypes.createArrayType(BLOCK)).apply(tags);
  }

  private static Row[] rows(List<FileTags.Block> blocks) {
    return blocks.stream()
        .map(each -> RowFactory.create(each.cube(), each.minWeight(), each.maxWeight(), each.rows(), each.replicated()))
        .toArray(Row[]::new);
  }

  /** Whether a file was written before format 0.6. */
  public static Column areLegacy(Column tags) {
    return asked(tags, FileTags::areLegacy);
  }

  /** Whether a file holds only rows that other files hold too. */
  public static Column areReplicated(Column tags, TableLog log) {
    return asked(tags, log.replicatedCubes()::holdsOnlyCopies);
  }

  /** Whether a file holds rows that other files hold too, beside rows of its own or not. */
  public static Column holdCopies(Column tags, TableLog log) {
    return asked(tags, log.replicatedCubes()::holdsCopies);
  }

  /** A predicate that can be sent to where the rows are. */
  private interface Question extends Predicate<Map<String, String>>, Serializable {}

  private static Column asked(Column tags, Question question) {
    UDF1<scala.collection.Map<String, String>, Boolean> answer =
        ofFile -> ofFile != null && question.test(ScalaInterop.map(ofFile));
    return functions.udf(answer, DataTypes.BooleanType).apply(tags);
  }
}
