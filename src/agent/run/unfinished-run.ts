/** Determines from the events of a session whether one of its runs is unfinished. */
import { isFinalResponse, type Event } from '../event.ts';
import { RunIndex } from './run-index.ts';

/**
 * Returns whether a run of the session has begun and not ended. Such a run is active in some process, waits for a
 * person, or was interrupted when its process ended.
 *
 * Only two kinds of runs are considered: the latest run of the conversation, and runs with events after the start of
 * that run. If any other run has not ended, it was interrupted, and the conversation has continued without it.
 */
export function hasUnfinishedRun(events: readonly Event[]): boolean {
  const latest = events.findLastIndex((event) => isStart(event) && event.aside !== true);
  const runs = new Set(events.slice(Math.max(latest, 0)).map(({ runId }) => runId));
  return [...runs].some((runId) => isUnfinished(runId, events));
}

function isUnfinished(runId: string, events: readonly Event[]): boolean {
  const own = events.filter((event) => event.runId === runId);
  // Some events, such as the record of an approval, have a run id of their own but do not belong to a run.
  if (!own.some(isStart)) return false;
  const index = new RunIndex(runId, own);
  if (index.failed) return false;
  if (index.openCalls.size > 0 || index.questions.size > 0) return true;
  // A run that is done ends with an answer. Events that follow the answer only change the state.
  const last = own.findLast(
    ({ author, content, actions }) =>
      author === 'user' || content !== undefined || actions.compaction !== undefined,
  );
  return last?.content?.role !== 'model' || !isFinalResponse(last);
}

/** Returns whether the event starts a run. */
function isStart({ author, metadata }: Event): boolean {
  return author === 'user' && typeof metadata?.['first'] === 'string';
}
