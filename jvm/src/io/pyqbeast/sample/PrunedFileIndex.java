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
 * The files of a scan as Delta prepares them, kept when Delta adds deletion vectors to the scan. Delta does two
 * things before a scan of a table that may have vectors. It lists all files of the snapshot to see whether one has a
 * vector, which takes a Spark job; here the list comes from memory. If one has a vector, Delta selects the files
 * anew, without the range of weights of a sample; here the prepared files stay. If other filters make Delta select
 * anew, files of replicated blocks are still left out.
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
   * The filters that the scan was prepared with. In a table with a vector Delta adds a filter that leaves deleted
   * rows out. That filter says nothing about files, and because of it Delta would not recognise the prepared scan.
   */
  private static Seq<Expression> withoutVectors(Seq<Expression> filters) {
    return ScalaInterop.seq(ScalaInterop.list(filters).stream().filter(filter -> !asksForDeleted(filter)).toList());
  }

  private static boolean asksForDeleted(Expression filter) {
    String deleted = DeltaParquetFileFormat$.MODULE$.IS_ROW_DELETED_COLUMN_NAME();
    return ScalaInterop.list(filter.references().toSeq()).stream().anyMatch(column -> column.name().equals(deleted));
  }

  /**
   * Whether there are filters and all of them are true: Delta asks for all files in this way. No filters at all mean
   * the prepared files.
   */
  private static boolean isAnything(Seq<Expression> filters) {
    Stream<Expression> each = ScalaInterop.list(filters).stream();
    return !filters.isEmpty() && each.allMatch(Literal$.MODULE$.TrueLiteral()::equals);
  }
}
