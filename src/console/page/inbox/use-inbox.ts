/** Loads the inbox: the size of each group, the tasks of one group, and the start of each task's first message. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { cleanLine } from '../../../display/index.ts';
import { textOf, type Part } from '../../../protocol/index.ts';
import { useAction, useLoaded } from '../parts/loading.tsx';
import type { Server } from '../server/server.ts';
import { readOpening } from '../server/tasks.ts';
import {
  countTasks,
  GROUP_NAMES,
  markOfTasks,
  MergedTasks,
  totalOf,
  type Group,
  type InboxTask,
  type TaskFilter,
} from './merged-tasks.ts';

/** How often the page asks whether a task has changed. Each check takes one request, for all agents together. */
const EVERY_MS = 7500;
/** Number of tasks whose first messages are loaded at the same time. */
const AT_ONCE = 4;
/** Maximum length of the start of a message. */
const MAX_START = 300;

export type InboxState = ReturnType<typeof useInbox>;

export function useInbox(server: Server, group: Group | undefined, filter: TaskFilter) {
  const { agents, contextId, since } = filter;
  const inputs = [server, agents.join(' '), contextId, since, group];
  const pages = useRef<MergedTasks | undefined>(undefined);
  const [later, setLater] = useState<readonly InboxTask[]>([]);
  const { busy, problem, run } = useAction();

  const first = useLoaded(
    async (signal) => {
      const numbers = await countTasks(server, filter, signal);
      const merged = group && new MergedTasks(server, group, filter, numbers);
      const tasks = await merged?.next(signal);
      pages.current = merged;
      setLater([]);
      const counts = GROUP_NAMES.map((each) => [each, totalOf(numbers, each)]);
      return { tasks, counts: Object.fromEntries(counts) as Record<Group, number> };
    },
    inputs,
    {
      everyMs: EVERY_MS,
      mark: (signal) => markOfTasks(server, filter, signal),
      // An automatic reload would remove the pages that `loadMore` has added.
      holds: later.length > 0,
    },
  );

  const loadMore = useCallback(() => {
    const merged = pages.current;
    if (!merged) return;
    run(async () => {
      const tasks = await merged.next(new AbortController().signal);
      if (pages.current === merged) setLater((before) => [...before, ...tasks]);
    });
  }, [run]);

  const { value, outdated, reload } = first;
  return {
    counts: value?.counts,
    tasks: value?.tasks && [...value.tasks, ...later],
    /** The number of tasks in this group, on all pages. */
    total: pages.current?.total ?? 0,
    more: pages.current?.more ?? false,
    loading: first.loading || busy,
    /** Whether tasks have changed since the list was loaded. */
    outdated,
    error: first.error ?? problem,
    loadMore,
    reload,
  };
}

/**
 * Returns the start of each task's first message, by the id of the task. Messages that are not loaded yet are missing.
 * A first message never changes, so it is loaded only once.
 */
export function useOpenings(
  server: Server,
  tasks: readonly InboxTask[],
): ReadonlyMap<string, string> {
  const [openings, setOpenings] = useState<ReadonlyMap<string, string>>(new Map());
  const asked = useRef(new Set<string>());
  const ids = tasks.map(({ task }) => task.id).join(' ');
  useEffect(() => {
    const missing = tasks.filter(({ task }) => !asked.current.has(task.id));
    const stop = new AbortController();
    const { signal } = stop;
    const work = async (): Promise<void> => {
      for (let next = missing.shift(); next && !signal.aborted; next = missing.shift()) {
        const { agent, task } = next;
        const opening = await readOpening(server, { agent, taskId: task.id }, signal);
        const text = startOf(opening?.history?.find(({ role }) => role === 'user')?.parts);
        asked.current.add(task.id);
        setOpenings((before) => new Map(before).set(task.id, text));
      }
    };
    // The list is useful without these texts, so a problem is not shown. After a problem, the loading stops.
    for (let count = 0; count < AT_ONCE; count++) work().catch(() => stop.abort());
    return () => stop.abort();
    // `ids` stands for `tasks`: it changes only when the list contains other tasks.
  }, [server, ids]);
  return openings;
}

/** Returns the start of a message in one line. */
export function startOf(parts: readonly Part[] = []): string {
  return cleanLine(textOf(parts).slice(0, 2 * MAX_START)).slice(0, MAX_START);
}
