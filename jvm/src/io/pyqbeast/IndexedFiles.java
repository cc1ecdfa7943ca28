package io.pyqbeast;

import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import scala.collection.immutable.Seq;

/**
 * The files of a scan as Delta prepares them. Before every scan of a table that may have deletion vectors, Delta asks
 * for all files of the snapshot, whether one has a vector, and runs a job for the answer; here memory gives it.
 */
final class IndexedFiles extends PreparedDeltaFileIndex {
  private static final long serialVersionUID = 1L;

  IndexedFiles(PreparedDeltaFileIndex prepared) {
    super(
        prepared.spark(), prepared.deltaLog(), prepared.path(), prepared.catalogTableOpt(), prepared.preparedScan(),
        prepared.versionScanned());
  }

  @Override
  public Seq<AddFile> matchingFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    return isAnything(partitionFilters) && isAnything(dataFilters)
        ? Scala.seq(BlockIndex.of(preparedScan().scannedSnapshot()).files())
        : super.matchingFiles(partitionFilters, dataFilters);
  }

  /** Whether the filters let everything through and say so: without any, only the prepared files are meant. */
  private static boolean isAnything(Seq<Expression> filters) {
    Stream<Expression> each = Scala.list(filters).stream();
    return !filters.isEmpty() && each.allMatch(Literal$.MODULE$.TrueLiteral()::equals);
  }
}
