/**
 * Reads a live session for one client: the log of the current task, and then the log of each later task.
 *
 * A reader stores a cursor but no events. When its sink is full, it stops until `resume` is called. Then it reads the
 * missed events from the store. Slow clients and reconnecting clients read the same tasks in the same order as all
 * other clients.
 */
import { rest } from '../base/index.ts';
import type { LiveItem, LiveSnapshot } from './client/session.ts';
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
import { mayRetry, OWN_CALL } from './session-task.ts';

/** The clients, the queued prompts, and the version of the commands. Each value replaces the previous one. */
export type Presence = Omit<Extract<LiveItem, { kind: 'presence' }>, 'kind'>;

/** Receives the items of a reader. Its methods must not throw. */
export interface LiveSink {
  /**
   * Takes a snapshot. Returns false if the sink is full. The reader then waits for `resume`. The result of `event`
   * has the same meaning.
   */
  snapshot(snapshot: LiveSnapshot): boolean;
  event(taskId: string, entry: Published | Opening): boolean;
  /** Called after each snapshot, after a resumption, and whenever the presence changes. */
  presence(presence: Presence): void;
  /** Called once: when the session has ended, when the client has left it, or when reading has failed. */
  end(): void;
}

/** The position to resume from. `after` is the sequence number of the last event that the client has. */
export interface Resume {
  readonly after: number;
  /**
   * The id of the event's task. Default: the current task. If it is an earlier task, all later tasks are read too. If
   * the task is unknown, the client starts with a snapshot of the current task.
   */
  readonly taskId?: string | undefined;
}

export interface Followed {
  readonly handler: RequestHandler;
  readonly conversation: Conversation;
  readonly logger: Logger;
  readonly presence: () => Presence;
  /**
   * Returns a function that builds the snapshot of a task. `joins` is true for the client's first snapshot, if the
   * client starts at the current state of the task.
   */
  readonly prepare: (joins: boolean) => Promise<(task: Task, seq: number) => LiveSnapshot>;
}

/** The delay before a lost stream is opened again. */
const LOST_WAIT_MS = 1000;

/**
 * The position at which to start in a task. `now`: the current state. `start`: the first event. A number: after the
 * event with this sequence number.
 */
type From = 'now' | 'start' | number;

export class SessionReader {
  readonly #followed: Followed;
  readonly #sink: LiveSink;
  #stream: TaskStream | undefined;
  #begun = false;
  #closed = false;
  /** The sequence number of the last event that was sent to the sink, directly or in a snapshot. */
  cursor = 0;

  constructor(followed: Followed, sink: LiveSink, resume?: Resume) {
    this.#followed = followed;
    this.#sink = sink;
    this.#follow(resume).then(
      () => this.close(),
      (error: unknown) => {
        if (!this.#closed)
          followed.logger.warn({ err: error }, 'failed to read the live session for a client');
        this.close();
      },
    );
  }

  resume(): void {
    this.#stream?.resume();
  }

  /**
   * Sends the presence to the sink. Has no effect before the first snapshot or the resumption, because the reader sends
   * the presence itself right after that.
   */
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
      const reason: EndReason | undefined = await this.#read(taskId, from).catch(
        (error: unknown) => {
          if (mayRetry(error)) return 'lost';
          throw error;
        },
      );
      if (reason === 'shutdown' || this.#closed) return;
      if (reason === 'lost') {
        if (this.cursor > 0) from = this.cursor;
        await rest(LOST_WAIT_MS);
        continue;
      }
      from = 'start';
      this.cursor = 0;
      taskId = await conversation.taskAfter(taskId);
    }
  }

  /** Reads a task until its stream ends, and returns the reason. Returns undefined if the task had already ended. */
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
      const after = from === 'start' ? 0 : from;
      const position = after === 'now' ? { id } : { id, after };
      return { stream: await handler.subscribe(position, OWN_CALL), from };
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      // The task has failed, or was canceled or rejected. Continue with the next task.
      if (error.kind === 'unsupportedOperation') return { from };
      // The task has no event with this number, so the client starts again with a snapshot.
      if (error.kind === 'invalidParams' && typeof from === 'number') {
        return this.#subscribe(id, 'now');
      }
      throw error;
    }
  }
}
