package io.pyqbeast.statistics;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pyqbeast.format.Json;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.DeltaStatistics;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DatetimeType;
import scala.collection.immutable.Seq;

/**
 * The bounds of files that get a deletion vector. Delta parses them and tells them anew, by the zone and the policy of the
 * session: old moments become other ones. Bounds of the rows that were in a file hold for those that are left.
 */
public final class KeptBounds {
  private static final List<String> BOUNDS = List.of(DeltaStatistics.MIN(), DeltaStatistics.MAX());

  private KeptBounds() {}

  /** The actions of a command that has begun on a snapshot, with the bounds that its files had there. */
  public static Seq<Action> in(Seq<Action> actions, Snapshot before) {
    Object[] paths =
        ScalaInterop.list(actions).stream()
            .filter(each -> each instanceof AddFile file && file.deletionVector() != null)
            .map(each -> ((AddFile) each).path())
            .toArray();
    if (paths.length == 0 || !hasTimes(before)) {
      return actions;
    }
    AddFile[] files = (AddFile[]) before.allFiles().filter(functions.col("path").isin(paths)).collect();
    return in(actions, Arrays.asList(files));
  }

  private static boolean hasTimes(Snapshot table) {
    return table.metadata().schema().existsRecursively(ScalaInterop.predicate(type -> type instanceof DatetimeType));
  }

  /** The same, where the files are known as they were before. */
  public static Seq<Action> in(Seq<Action> actions, List<AddFile> before) {
    Map<String, String> told = new HashMap<>();
    before.forEach(file -> told.put(file.path(), file.stats()));
    List<Action> all = new ArrayList<>();
    for (Action action : ScalaInterop.list(actions)) {
      all.add(
          action instanceof AddFile file && file.stats() != null && told.containsKey(file.path())
              ? DeltaActions.withStatistics(file, kept(told.get(file.path()), file.stats()))
              : action);
    }
    return ScalaInterop.seq(all);
  }

  /** Files without statistics, or with a text that nobody reads, get some without bounds. */
  private static String kept(String before, String told) {
    if (!(Json.readExactly(told) instanceof ObjectNode all)) {
      return told; // deeper JSON, or stranger names, than pyqbeast reads
    }
    JsonNode old = Json.readExactly(before);
    for (String bounds : BOUNDS) {
      all.remove(bounds);
      if (old.has(bounds)) {
        all.set(bounds, old.get(bounds));
      }
    }
    return all.toString();
  }
}
