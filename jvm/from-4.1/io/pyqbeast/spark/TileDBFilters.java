package io.pyqbeast.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonFilterPushdownResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * Gives Spark's filters to the data source {@code tiledb}. Spark does so for all sources of Python's or for none, by a
 * setting of the session, and Spark 4.2.0 keeps them with the table: the next query of the same DataFrame gets them too,
 * and counts too few rows. Here they reach this source alone, and each scan keeps its own.
 *
 * <p>Spark keeps what the first query has opened in the same place. So here each scan opens the array anew, also one
 * without filters.
 */
public final class TileDBFilters extends Rule<LogicalPlan> {
  /** Whether this version of Spark gives filters to data sources of Python. */
  public static final boolean ARE_TAKEN = true;

  private static final String SOURCE = "tiledb";

  /** Tells the Python side to hand over a reader that takes filters; see {@code tiledb/spark/data_source.py}. */
  private static final String OPTION = "_takesFilters";

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperators(ScalaInterop.partial(DataSourceV2Relation.class, TileDBFilters::filtered));
  }

  /** Whether a part of a plan reads an array that takes filters. */
  public static boolean areFor(LogicalPlan part) {
    return part instanceof DataSourceV2Relation relation && relation.table() instanceof FilteredTable;
  }

  private static LogicalPlan filtered(DataSourceV2Relation relation) {
    return relation.table() instanceof PythonTable table && table.name().equalsIgnoreCase(SOURCE)
        ? relation.copy(
            new FilteredTable(table), relation.output(), relation.catalog(), relation.identifier(),
            relation.options(), relation.timeTravelSpec())
        : relation;
  }

  /** An array as Spark reads it. */
  private record FilteredTable(PythonTable table) implements SupportsRead {
    @Override
    public String name() {
      return table.name();
    }

    @Override
    public Column[] columns() {
      return table.columns();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return new FilteredScan(table, options);
    }
  }

  /** One scan, with a source of its own. */
  private static final class FilteredScan implements SupportsPushDownFilters {
    private final PythonTable table;
    private final CaseInsensitiveStringMap options;
    private Filter[] pushed = {};
    private PythonDataSourceV2 own = newSource();

    FilteredScan(PythonTable table, CaseInsensitiveStringMap options) {
      this.table = table;
      this.options = options;
    }

    private static PythonDataSourceV2 newSource() {
      PythonDataSourceV2 source = new PythonDataSourceV2();
      source.setShortName(SOURCE);
      return source;
    }

    @Override
    public Filter[] pushFilters(Filter[] filters) {
      Map<Boolean, List<Filter>> byKnown =
          Arrays.stream(filters).collect(Collectors.partitioningBy(PythonValues::has));
      Filter[] known = byKnown.get(true).toArray(Filter[]::new);
      if (known.length == 0) {
        return filters;
      }
      Map<String, String> asked = new HashMap<>(options.asCaseSensitiveMap());
      asked.put(OPTION, "true");
      PythonDataSourceV2 source = newSource();
      PythonDataSourceCreationResult made =
          source.getOrCreateDataSourceInPython(
              SOURCE, new CaseInsensitiveStringMap(asked), Option.apply(table.schema()));
      Option<PythonFilterPushdownResult> result =
          source.source().pushdownFiltersInPython(made, table.schema(), known);
      if (result.isEmpty()) {
        return filters;
      }
      own = source;
      own.setReadInfo(result.get().readInfo());
      List<Object> isPushed = ScalaInterop.list(result.get().isFilterPushed());
      List<Filter> taken = new ArrayList<>();
      List<Filter> left = new ArrayList<>(byKnown.get(false));
      for (int i = 0; i < known.length; i++) {
        ((Boolean) isPushed.get(i) ? taken : left).add(known[i]);
      }
      pushed = taken.toArray(Filter[]::new);
      return left.toArray(Filter[]::new);
    }

    @Override
    public Filter[] pushedFilters() {
      return pushed;
    }

    @Override
    public Scan build() {
      return new PythonScan(own, SOURCE, table.schema(), options, pushed);
    }
  }
}
