/**
 * One who follows a live session: a reader of its task's log, and of the next task's when that one is over.
 *
 * It holds a place in the log and no events. A sink that is full is left alone until `resume`, and then gets what it
 * has missed from the store. Whoever is slow, or was away, goes through the same tasks as everybody else.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { LiveClient, LiveSnapshot, QueuedPrompt } from './client/session.ts';
import { EXTENSION_URI } from '../protocol/development-tool/index.ts';
import { A2AError, type Task } from '../protocol/index.ts';
import type {
  EndReason,
  Logger,
  Opening,
  Published,
  RequestHandler,
  TaskStream,
} from '../tasks/index.ts';
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
  /** For the first time behind the snapshot, or where the sink resumes. */
  presence(presence: Presence): void;
  /** There is no more: the session is over, or its client has left it. */
  end(): void;
}

/** Where to go on: behind an event of a task. */
export interface Resume {
  readonly after: number;
  /** Unless told, the present one. One from before leads to it, through those in between. */
  readonly taskId?: string | undefined;
}

export interface Followed {
  readonly handler: RequestHandler;
  readonly conversation: Conversation;
  readonly logger: Logger;
  readonly presence: () => Presence;
  /** What goes into every snapshot beside the task; asked before each. `joins`: it is the client's first. */
  readonly prepare: (joins: boolean) => Promise<(task: Task, seq: number) => LiveSnapshot>;
}

/** Before a log is read again that could not be. */
const LOST_WAIT_MS = 1000;

/** Where in a task: as it is now, as it was when the conversation came to it, or behind an event. */
type From = 'now' | 'start' | number;

const CALL = { extensions: [EXTENSION_URI] };

export class Follower {
  readonly #followed: Followed;
  readonly #sink: LiveSink;
  #stream: TaskStream | undefined;
  #begun = false;
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

  /** Those who have not begun are told with the snapshot. */
  presence(presence: Presence): void {
    if (this.#begun && !this.#closed) this.#sink.presence(presence);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stream?.close();
    this.#sink.end();
  }

  async #follow(resume: Resume | undefined): Promise<void> {
    const { conversation } = this.#followed;
    const { taskId: wanted = conversation.task.id } = resume ?? {};
    const known = conversation.leads(wanted);
    let taskId: string | undefined = known ? wanted : conversation.task.id;
    let from: From = known && resume ? resume.after : 'now';
    while (taskId !== undefined && !this.#closed) {
      const reason: EndReason | undefined = await this.#read(taskId, from);
      if (reason === 'shutdown' || this.#closed) return;
      if (reason === 'lost') {
        if (this.cursor > 0) from = this.cursor;
        await delay(LOST_WAIT_MS, undefined, { ref: false });
        continue;
      }
      from = 'start';
      taskId = await conversation.taskAfter(taskId);
    }
  }

  /** Reads a task to its end. Undefined: it was over already. */
  async #read(taskId: string, wanted: From): Promise<EndReason | undefined> {
    const { prepare, presence } = this.#followed;
    const { stream, from } = await this.#subscribe(taskId, wanted);
    if (!stream) return undefined;
    const snapshotOf = await prepare(!this.#begun && from === 'now').catch((error: unknown) => {
      stream.close();
      throw error;
    });
    if (this.#closed) {
      stream.close();
      return 'closed';
    }
    this.#stream = stream;
    this.cursor = typeof from === 'number' ? from : 0;
    return new Promise((resolve) => {
      let opens = typeof from !== 'number';
      const tellPresence = () => {
        this.#begun = true;
        this.#sink.presence(presence());
      };
      if (!opens) tellPresence();
      stream.pipe({
        take: (item) => {
          this.cursor = item.seq ?? this.cursor;
          if (!opens || item.event.kind !== 'task') return this.#sink.event(taskId, item);
          opens = false;
          const room = this.#sink.snapshot(snapshotOf(item.event, this.cursor));
          tellPresence();
          return room;
        },
        end: resolve,
      });
    });
  }

  async #subscribe(
    id: string,
    from: From,
  ): Promise<{ readonly stream?: TaskStream; readonly from: From }> {
    const { handler } = this.#followed;
    try {
      const after = from === 'start' ? 0 : from === 'now' ? undefined : from;
      return {
        stream: await handler.subscribe({ id, ...(after !== undefined && { after }) }, CALL),
        from,
      };
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      // It has failed or was canceled a moment ago: the next one comes.
      if (error.kind === 'unsupportedOperation') return { from };
      // There is no such event in this task: whoever saw it saw another, and begins anew.
      if (error.kind === 'invalidParams' && typeof from === 'number') {
        return this.#subscribe(id, 'now');
      }
      throw error;
    }
  }
}
