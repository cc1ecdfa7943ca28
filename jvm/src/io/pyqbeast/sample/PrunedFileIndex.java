package io.pyqbeast.sample;

import io.pyqbeast.index.BlockIndex;
import io.pyqbeast.spark.ScalaInterop;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import scala.collection.immutable.Seq;

/**
 * Keeps the files that were chosen when a scan was prepared, even if its filters change afterwards. Delta itself would
 * choose again, and then it knows neither the range of weights nor the bounds of widened floats. Rules that run after
 * the preparation change filters, for instance because of deletion vectors or where a table is joined with itself. They
 * let no row in that the first filters keep out, so the files that were chosen hold all rows.
 *
 * <p>Delta also lists all files of the snapshot, to see whether one has a deletion vector. That takes a Spark job; here
 * the list comes from memory.
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
        : preparedScan().files();
  }

  /** Whether there are filters and all of them are true: Delta asks for all files in this way. */
  private static boolean isAnything(Seq<Expression> filters) {
    Stream<Expression> each = ScalaInterop.list(filters).stream();
    return !filters.isEmpty() && each.allMatch(Literal$.MODULE$.TrueLiteral()::equals);
  }
}
