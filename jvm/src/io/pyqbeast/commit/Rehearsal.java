package io.pyqbeast.commit;

import io.pyqbeast.spark.CurrentTime;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.commands.WriteIntoDelta;
import org.apache.spark.sql.delta.constraints.Constraint;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple4;
import scala.collection.immutable.Seq;
import scala.collection.immutable.Set;
import scala.collection.immutable.Set$;

/**
 * What Delta is going to do to the rows of a write on their way to the files. Rows are laid out by the values that
 * will be stored, so these have to be known before the write. They are found out in a transaction that is thrown away.
 *
 * @param planned the table's metadata once the rows are in it
 * @param asGiven the rows before they were completed, with their texts as long as they are stored. Delta resolves the
 *     columns of {@code replaceOn} and {@code replaceUsing} in these
 * @param asStored the rows as the table will hold them: under its names, of its types, and with the columns that Delta
 *     computes or fills in
 * @param checks that generated columns which the rows came with are what they would be computed as
 * @param identityColumns those that Delta numbers, and accepts from no user
 */
record Rehearsal(
    Metadata planned, Dataset<Row> asGiven, Dataset<Row> asStored, Seq<Constraint> checks, Set<String> identityColumns) {
  /** For a write without rows of a user. */
  static final Rehearsal NONE =
      new Rehearsal(null, null, null, ScalaInterop.seq(List.of()), Set$.MODULE$.empty());

  /** @param throwaway a transaction on the version that the write begins on; the command has set its options */
  static Rehearsal of(SparkSession session, OptimisticTransaction throwaway, WriteIntoDelta command, Dataset<Row> data) {
    command.updateMetadata(
        session, throwaway, asDeltaTakes(session, data.schema()), ScalaInterop.seq(List.of()), command.configuration(),
        command.mode() == SaveMode.Overwrite, command.options().rearrangeOnly());
    Metadata planned = throwaway.metadata();
    Dataset<Row> asGiven = PaddedTexts.in(data, planned.schema());
    Tuple4<Dataset<Row>, Seq<Attribute>, Seq<Constraint>, Set<String>> completed =
        throwaway.normalizeSchema(throwaway.deltaLog(), Option.apply(command.options()), asGiven);
    StructType stored = plain(planned.schema());
    Dataset<Row> rows = completed._1();
    Dataset<Row> asStored =
        CurrentTime.fixed(
            PaddedTexts.in(
                DataType.equalsIgnoreNullability(rows.schema(), stored) ? rows : rows.to(stored), planned.schema()));
    return new Rehearsal(planned, asGiven, asStored, completed._3(), completed._4());
  }

  /** The columns of a write as Delta's command takes them: where a session pads no CHAR texts, CHAR is VARCHAR to it. */
  static StructType asDeltaTakes(SparkSession session, StructType rows) {
    SQLConf settings = session.sessionState().conf();
    boolean isPadded = settings.readSideCharPadding() && !(Boolean) settings.getConf(SQLConf.CHAR_AS_VARCHAR());
    CharVarcharUtils$ texts = CharVarcharUtils$.MODULE$;
    return isPadded
        ? rows
        : texts.replaceCharVarcharWithStringInSchema((StructType) texts.replaceCharWithVarchar(texts.getRawSchema(rows)));
  }

  /**
   * The schema with names and types only. A new table must keep the metadata of the rows' own columns, so none is put
   * in its place.
   */
  private static StructType plain(StructType schema) {
    StructType plain = new StructType();
    for (StructField column : schema.toNullable().fields()) {
      plain = plain.add(column.name(), column.dataType());
    }
    return plain;
  }

  /** Some rows without the numbers of identity columns. */
  Dataset<Row> withoutNumbers(Dataset<Row> rows) {
    return identityColumns.isEmpty() ? rows : rows.drop(identityColumns.toSeq());
  }
}
