package io.pyqbeast;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.Option;

/**
 * The files of one snapshot with the weights that each can hold, kept for as long as Delta keeps the snapshot: planning
 * a sample then costs no Spark job.
 */
final class BlockIndex {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<Snapshot, BlockIndex> CACHE = Collections.synchronizedMap(new WeakHashMap<>());

  /** Smallest and largest weight in a file; everything where they are not known. */
  private record Weights(int lowest, int highest) {
    static final Weights ANY = new Weights(Facts.WEIGHT_MIN, Facts.WEIGHT_MAX);
  }

  private final List<AddFile> files = new ArrayList<>();
  private final Map<String, Weights> weights = new HashMap<>();

  private BlockIndex(Snapshot snapshot) {
    Set<String> weighed = WeighedRevisions.of(snapshot.metadata());
    for (AddFile file : (AddFile[]) snapshot.allFiles().collect()) {
      weights.put(file.path(), weighed.contains(revision(file)) ? weightsOf(file) : Weights.ANY);
      files.add(light(file));
    }
  }

  static BlockIndex of(Snapshot snapshot) {
    BlockIndex index = CACHE.get(snapshot);
    if (index == null) {
      index = new BlockIndex(snapshot);
      CACHE.put(snapshot, index);
    }
    return index;
  }

  /** All files of the snapshot. They carry no tags and no statistics: a scan needs neither. */
  List<AddFile> files() {
    return files;
  }

  boolean mayHold(AddFile file, WeightRange range) {
    Weights held = weights.getOrDefault(file.path(), Weights.ANY);
    return range.meets(held.lowest(), held.highest());
  }

  private static String revision(AddFile file) {
    return file.tagsOrEmpty().get(Facts.TAG_REVISION).getOrElse(() -> "");
  }

  private static Weights weightsOf(AddFile file) {
    Option<String> blocks = file.tagsOrEmpty().get(Facts.TAG_BLOCKS);
    if (blocks.isEmpty()) {
      return Weights.ANY;
    }
    int lowest = Facts.WEIGHT_MAX;
    int highest = Facts.WEIGHT_MIN;
    try {
      JsonNode parsed = JSON.readTree(blocks.get());
      if (!parsed.isArray() || parsed.isEmpty()) {
        return Weights.ANY;
      }
      for (JsonNode block : parsed) {
        JsonNode low = block.path(Facts.text("BLOCK_MIN_WEIGHT"));
        JsonNode high = block.path(Facts.text("BLOCK_MAX_WEIGHT"));
        if (!low.canConvertToInt() || !high.canConvertToInt()) {
          return Weights.ANY;
        }
        lowest = Math.min(lowest, low.intValue());
        highest = Math.max(highest, high.intValue());
      }
    } catch (JsonProcessingException e) {
      return Weights.ANY; // a damaged tag makes the file an unindexed one, which is always read
    }
    return new Weights(lowest, highest);
  }

  private static AddFile light(AddFile file) {
    return new AddFile(
        file.path(), file.partitionValues(), file.size(), file.modificationTime(), file.dataChange(), null, null,
        file.deletionVector(), file.baseRowId(), file.defaultRowCommitVersion(), file.clusteringProvider(),
        file.backReference(), file.amtPassthrough());
  }
}
