/** The tasks of the memory store, and the chains (linked lists) in which the tasks of one scope are listed. */
import {
  isInterrupted,
  isTerminal,
  type TaskEvent,
  type TaskState,
  type TaskStatus,
} from '../../protocol/index.ts';
import { Chain, type ChainLinks } from './chains.ts';
import { ChangeClock } from './store-rules.ts';
import type { Append, ListQuery, Scope, TaskHead } from './store.ts';

/** The links of the chains, one `ChainLinks` per kind of chain. */
export interface StoreLinks {
  readonly all: ChainLinks;
  readonly state: ChainLinks;
  readonly context: ChainLinks;
  readonly waiting: ChainLinks;
  readonly finished: ChainLinks;
}

/** A chain and its links. */
export interface Found {
  readonly chain: Chain;
  readonly links: ChainLinks;
}

const NO_EVENTS: TaskEvent[] = [];

export class StoredTask implements Scope {
  readonly number: number;
  readonly taskId: string;
  readonly contextId: string;
  readonly scope: ScopeIndex;
  events = NO_EVENTS;
  /** The ids of the messages that the task accepted. Most tasks have one, which needs no array. */
  #messageIds: string | string[] | undefined;
  status: TaskStatus;
  /** The number of the last status change. It is 0 until the task is in the chains. */
  changed = 0;
  bytes = 0;
  createdAt = 0;
  /** Undefined if the task never expires. The value Infinity would take additional memory. */
  expiresAt: number | undefined;

  constructor(
    number: number,
    { taskId, contextId }: Append,
    scope: ScopeIndex,
    status: TaskStatus,
  ) {
    this.number = number;
    this.taskId = taskId;
    this.contextId = contextId;
    this.scope = scope;
    this.status = status;
  }

  /** Appends an event. The first two are not added with `push`, which would reserve memory for 17 events. */
  add(event: TaskEvent): void {
    const [first, second] = this.events;
    if (!first) this.events = [event];
    else if (!second) this.events = [first, event];
    else this.events.push(event);
  }

  /** Adds the id of a message that the task accepted. */
  addMessageId(id: string): void {
    const known = this.#messageIds;
    if (known === undefined) this.#messageIds = id;
    else if (typeof known === 'string') this.#messageIds = [known, id];
    else known.push(id);
  }

  messageIds(): readonly string[] {
    const known = this.#messageIds;
    return typeof known === 'object' ? known : known === undefined ? [] : [known];
  }

  get tenant(): string {
    return this.scope.tenant;
  }

  get owner(): string {
    return this.scope.owner;
  }

  get isListed(): boolean {
    return this.changed > 0;
  }

  get isFinished(): boolean {
    return this.isListed && isTerminal(this.status.state);
  }

  head(): TaskHead {
    return {
      tenant: this.tenant,
      owner: this.owner,
      taskId: this.taskId,
      contextId: this.contextId,
      seq: this.events.length,
      status: this.status,
      updatedAt: ChangeClock.time(this.changed),
      createdAt: this.createdAt,
      expiresAt: this.expiresAt,
      bytes: this.bytes,
    };
  }
}

/** The indexes of the tasks of one scope. */
export class ScopeIndex implements Scope {
  readonly tenant: string;
  readonly owner: string;
  readonly all = new Chain();
  readonly states = new Map<TaskState, Chain>();
  /**
   * The tasks of each context. For the first task of a context, only its number is kept. A chain is made when a second
   * task is added or the tasks are listed.
   */
  readonly #contexts = new Map<string, Chain | number>();
  /** The tasks that wait for a client, by state and context. */
  readonly waiting = new Map<string, Chain>();
  readonly messages = new Map<string, StoredTask>();

  constructor({ tenant, owner }: Scope) {
    this.tenant = tenant;
    this.owner = owner;
  }

  /** Returns a chain with all matching tasks, and perhaps other tasks. If it returns undefined, no task matches. */
  chain({ contextId, state }: ListQuery, links: StoreLinks): Found | undefined {
    if (contextId !== undefined && state !== undefined && isInterrupted(state)) {
      return found(this.waiting.get(waitingKey(contextId, state)), links.waiting);
    }
    if (contextId !== undefined) return found(this.#contextChain(contextId, links), links.context);
    if (state !== undefined) return found(this.states.get(state), links.state);
    return { chain: this.all, links: links.all };
  }

  /** Adds the task to the front of all its chains. */
  add(task: StoredTask, links: StoreLinks): void {
    this.all.add(links.all, task.number);
    chainOf(this.states, task.status.state).add(links.state, task.number);
    const known = this.#contexts.get(task.contextId);
    if (known === undefined) this.#contexts.set(task.contextId, task.number);
    else if (known !== task.number) {
      this.#contextChain(task.contextId, links)?.add(links.context, task.number);
    }
    const { state } = task.status;
    if (!isInterrupted(state)) return;
    chainOf(this.waiting, waitingKey(task.contextId, state)).add(links.waiting, task.number);
  }

  remove(task: StoredTask, links: StoreLinks): void {
    this.all.remove(links.all, task.number);
    this.states.get(task.status.state)?.remove(links.state, task.number);
    const context = this.#contexts.get(task.contextId);
    // The only task of a context stays until `forget`.
    if (context instanceof Chain) context.remove(links.context, task.number);
    const { state } = task.status;
    if (!isInterrupted(state)) return;
    const key = waitingKey(task.contextId, state);
    const chain = this.waiting.get(key);
    chain?.remove(links.waiting, task.number);
    if (chain?.size === 0) this.waiting.delete(key);
  }

  /** Removes the rest of a deleted task after `remove`: the entry of an empty context, and the message ids. */
  forget(task: StoredTask): void {
    const context = this.#contexts.get(task.contextId);
    const isEmpty = context instanceof Chain ? context.size === 0 : context === task.number;
    if (isEmpty) this.#contexts.delete(task.contextId);
    for (const id of task.messageIds()) this.messages.delete(id);
  }

  #contextChain(contextId: string, links: StoreLinks): Chain | undefined {
    const known = this.#contexts.get(contextId);
    if (typeof known !== 'number') return known;
    const chain = new Chain();
    chain.add(links.context, known);
    this.#contexts.set(contextId, chain);
    return chain;
  }
}

function found(chain: Chain | undefined, links: ChainLinks): Found | undefined {
  return chain && { chain, links };
}

function chainOf<Key>(chains: Map<Key, Chain>, key: Key): Chain {
  let chain = chains.get(key);
  if (!chain) chains.set(key, (chain = new Chain()));
  return chain;
}

function waitingKey(contextId: string, state: TaskState): string {
  return `${state} ${contextId}`;
}
