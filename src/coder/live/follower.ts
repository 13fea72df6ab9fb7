/**
 * One who follows a live session: a reader of its task's log, and of the next task's when that one is over.
 *
 * It holds a place in the log and no events. A sink that is full is left alone until `resume`, and then gets what it
 * has missed from the store.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { LiveClient, LiveSnapshot, QueuedPrompt } from '../../client/live.ts';
import { EXTENSION_URI } from '../../protocol/development-tool.ts';
import { A2AError, type Task } from '../../protocol/index.ts';
import type {
  EndReason,
  Logger,
  Opening,
  Published,
  RequestHandler,
  TaskStream,
} from '../../server/index.ts';
import type { Conversation } from './conversation.ts';

/** Who is there, and what waits. Only the latest counts. */
export interface Presence {
  readonly clients: readonly LiveClient[];
  readonly queued: readonly QueuedPrompt[];
}

/** Where a follower's items go. None of these may throw. */
export interface LiveSink {
  /** False, here and in `event`: no more until `resume`. */
  snapshot(snapshot: LiveSnapshot): boolean;
  event(taskId: string, entry: Published | Opening): boolean;
  presence(presence: Presence): void;
  /** There is no more: the session is over, or its client has left it. */
  end(): void;
}

/** Where to go on: behind an event of a task. */
export interface Resume {
  readonly after: number;
  /** Unless told, the present one. */
  readonly taskId?: string | undefined;
}

export interface Followed {
  readonly handler: RequestHandler;
  readonly conversation: Conversation;
  readonly logger: Logger;
  readonly presence: () => Presence;
  /** What goes into every snapshot beside the task; asked before each. */
  readonly prepare: () => Promise<(task: Task, seq: number) => LiveSnapshot>;
}

/** Before a log is read again that could not be. */
const LOST_WAIT_MS = 1000;

const CALL = { extensions: [EXTENSION_URI] };

export class Follower {
  readonly #followed: Followed;
  readonly #sink: LiveSink;
  #stream: TaskStream | undefined;
  #closed = false;
  /** The last event that the sink has, or that is in its snapshot. */
  cursor = 0;

  constructor(followed: Followed, sink: LiveSink, resume?: Resume) {
    this.#followed = followed;
    this.#sink = sink;
    this.#follow(resume).then(
      () => this.close(),
      (error: unknown) => {
        if (!this.#closed) followed.logger.warn({ err: error }, 'a client lost the live session');
        this.close();
      },
    );
  }

  resume(): void {
    this.#stream?.resume();
  }

  presence(presence: Presence): void {
    if (!this.#closed) this.#sink.presence(presence);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stream?.close();
    this.#sink.end();
  }

  async #follow(resume: Resume | undefined): Promise<void> {
    const { conversation } = this.#followed;
    let taskId: string | undefined = conversation.task.id;
    const same = resume?.taskId === undefined || resume.taskId === taskId;
    let after = same ? resume?.after : undefined;
    while (taskId !== undefined && !this.#closed) {
      const reason: EndReason | undefined = await this.#read(taskId, after);
      if (reason === 'shutdown') return;
      if (reason === 'lost') {
        after = this.cursor;
        await delay(LOST_WAIT_MS, undefined, { ref: false });
        continue;
      }
      after = undefined;
      taskId = await conversation.taskAfter(taskId);
    }
  }

  /** Reads a task to its end. Undefined: it was over already. */
  async #read(taskId: string, wanted: number | undefined): Promise<EndReason | undefined> {
    const { prepare, presence } = this.#followed;
    const { stream, after } = await this.#subscribe(taskId, wanted);
    if (!stream) return undefined;
    const snapshotOf = await prepare().catch((error: unknown) => {
      stream.close();
      throw error;
    });
    if (this.#closed) {
      stream.close();
      return 'closed';
    }
    this.#stream = stream;
    if (after !== undefined) this.cursor = after;
    return new Promise((resolve) => {
      let opens = after === undefined;
      if (!opens) this.#sink.presence(presence());
      stream.pipe({
        take: (item) => {
          this.cursor = item.seq ?? this.cursor;
          if (!opens || item.event.kind !== 'task') return this.#sink.event(taskId, item);
          opens = false;
          const room = this.#sink.snapshot(snapshotOf(item.event, this.cursor));
          this.#sink.presence(presence());
          return room;
        },
        end: resolve,
      });
    });
  }

  async #subscribe(
    id: string,
    after: number | undefined,
  ): Promise<{ readonly stream?: TaskStream; readonly after?: number }> {
    const { handler } = this.#followed;
    try {
      if (after === undefined) return { stream: await handler.subscribe({ id }, CALL) };
      return { stream: await handler.subscribe({ id, after }, CALL), after };
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      // It has failed or was canceled a moment ago: the next one comes.
      if (error.kind === 'unsupportedOperation') return {};
      // There is no such event in this task: whoever saw it saw another, and begins anew.
      if (error.kind === 'invalidParams' && after !== undefined) {
        return this.#subscribe(id, undefined);
      }
      throw error;
    }
  }
}
