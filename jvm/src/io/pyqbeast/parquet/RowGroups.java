package io.pyqbeast.parquet;

import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.compat.RowGroupFilter;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFilters;
import org.apache.spark.sql.internal.LegacyBehaviorPolicy$;
import org.apache.spark.sql.sources.Filter;
import scala.Option;

/**
 * Row groups of data files, from the files' footers. Spark has no metric of them. The filters are those that Spark hands
 * to Parquet; a row group counts as read if the statistics in the footer do not rule it out.
 *
 * @param read those that the filters leave
 * @param all those of the files
 */
public record RowGroups(long read, long all) {
  private static final int MOST_VALUES_OF_IN = 10;

  public static final RowGroups NONE = new RowGroups(0, 0);

  public RowGroups plus(RowGroups other) {
    return new RowGroups(read + other.read, all + other.all);
  }

  /**
   * The row groups of some files, whose footers the driver reads; null if one of them cannot be read.
   *
   * @param files where they are, and how many bytes of each are read
   */
  public static RowGroups of(Map<Path, Long> files, List<Expression> filters, Snapshot table) {
    Configuration conf = table.deltaLog().newDeltaHadoopConf();
    List<Filter> pushed =
        filters.stream()
            .map(filter -> namedAsInFiles(filter, table))
            .map(filter -> DataSourceStrategy$.MODULE$.translateFilter(filter, true))
            .filter(Option::isDefined)
            .map(Option::get)
            .toList();
    List<RowGroups> ofFiles =
        files.entrySet().parallelStream().map(file -> of(file.getKey(), file.getValue(), pushed, conf)).toList();
    return ofFiles.stream().allMatch(Objects::nonNull) ? ofFiles.stream().reduce(NONE, RowGroups::plus) : null;
  }

  private static RowGroups of(Path file, long bytes, List<Filter> filters, Configuration conf) {
    try (ParquetFileReader reader = footer(file, conf)) {
      List<BlockMetaData> all = reader.getFooter().getBlocks();
      List<BlockMetaData> groups = all.stream().filter(group -> group.getStartingPos() < bytes).toList();
      FilterPredicate predicate = predicate(filters, reader.getFooter().getFileMetaData().getSchema());
      List<BlockMetaData> left =
          predicate == null
              ? groups
              : RowGroupFilter.filterRowGroups(
                  List.of(RowGroupFilter.FilterLevel.STATISTICS), FilterCompat.get(predicate), groups, reader);
      return new RowGroups(left.size(), all.size());
    } catch (IOException | RuntimeException e) {
      return null; // a query will say what is wrong with the file
    }
  }

  /** A reader of a file's footer. Left to itself, Parquet reads the defaults of Hadoop anew for each file. */
  public static ParquetFileReader footer(Path file, Configuration conf) throws IOException {
    return ParquetFileReader.open(HadoopInputFile.fromPath(file, conf), HadoopReadOptions.builder(conf, file).build());
  }

  private static FilterPredicate predicate(List<Filter> filters, MessageType schema) {
    RebaseSpec today = new RebaseSpec(LegacyBehaviorPolicy$.MODULE$.CORRECTED(), Option.empty());
    ParquetFilters translator =
        new ParquetFilters(schema, true, true, true, true, MOST_VALUES_OF_IN, false, today);
    return filters.stream()
        .map(translator::createFilter)
        .filter(Option::isDefined)
        .map(Option::get)
        .reduce(FilterApi::and)
        .orElse(null);
  }

  private static Expression namedAsInFiles(Expression filter, Snapshot table) {
    if (table.metadata().columnMappingMode() == NoMapping$.MODULE$) {
      return filter; // a name may be left over from a mapping
    }
    return filter.transformUp(
        ScalaInterop.<Expression, AttributeReference>partial(
            AttributeReference.class, column -> column.withName(LogicalPlans.physicalName(column, table))));
  }
}
