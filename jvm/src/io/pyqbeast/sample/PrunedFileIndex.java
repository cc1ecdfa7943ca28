package io.pyqbeast.sample;

import io.pyqbeast.index.BlockIndex;
import io.pyqbeast.index.ReplicatedFiles;
import io.pyqbeast.spark.ScalaInterop;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.delta.DeltaParquetFileFormat$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import scala.collection.immutable.Seq;

/**
 * The files of a scan as Delta prepares them, which deletion vectors leave as they are. Before every scan of a table
 * that may have vectors, Delta asks for all files of the snapshot, whether one has a vector, and runs a job for the
 * answer; here memory gives it. And where there is one, Delta would select the files anew and forget the sample.
 * Where it does select anew, files of replicated blocks stay out here too.
 */
final class PrunedFileIndex extends PreparedDeltaFileIndex {
  private static final long serialVersionUID = 1L;

  PrunedFileIndex(PreparedDeltaFileIndex prepared) {
    super(
        prepared.spark(), prepared.deltaLog(), prepared.path(), prepared.catalogTableOpt(), prepared.preparedScan(),
        prepared.versionScanned());
  }

  @Override
  public Seq<AddFile> matchingFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    return isAnything(partitionFilters) && isAnything(dataFilters)
        ? ScalaInterop.seq(BlockIndex.of(preparedScan().scannedSnapshot()).files())
        : ScalaInterop.seq(
            ReplicatedFiles.without(
                ScalaInterop.list(super.matchingFiles(partitionFilters, withoutVectors(dataFilters))),
                preparedScan().scannedSnapshot()));
  }

  /**
   * The filters that the scan was prepared with. In a table with a vector Delta adds one that leaves deleted rows out;
   * it says nothing about files, and with it Delta would take the prepared ones for those of another query.
   */
  private static Seq<Expression> withoutVectors(Seq<Expression> filters) {
    return ScalaInterop.seq(ScalaInterop.list(filters).stream().filter(filter -> !asksForDeleted(filter)).toList());
  }

  private static boolean asksForDeleted(Expression filter) {
    String deleted = DeltaParquetFileFormat$.MODULE$.IS_ROW_DELETED_COLUMN_NAME();
    return ScalaInterop.list(filter.references().toSeq()).stream().anyMatch(column -> column.name().equals(deleted));
  }

  /** Whether the filters let everything through and say so: without any, only the prepared files are meant. */
  private static boolean isAnything(Seq<Expression> filters) {
    Stream<Expression> each = ScalaInterop.list(filters).stream();
    return !filters.isEmpty() && each.allMatch(Literal$.MODULE$.TrueLiteral()::equals);
  }
}
