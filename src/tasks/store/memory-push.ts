/** The webhooks of the memory store. */
import type { PushNotificationConfig } from '../../protocol/index.ts';
import { sameJson } from './same-json.ts';
import { MAX_DEAD_LETTERS } from './store-rules.ts';
import type {
  DeadLetter,
  DeadLetterQuery,
  DuePush,
  DueQuery,
  PushChange,
  PushProgress,
  PushRecord,
  Scope,
} from './store.ts';

interface Webhook extends Scope {
  readonly position: number;
  record: PushRecord;
  deadLetters: DeadLetter[];
}

export class MemoryPush {
  /** The webhooks by task id and configuration id. The map contains only tasks with webhooks. */
  readonly #tasks = new Map<string, Map<string, Webhook>>();
  readonly #due = new Set<Webhook>();
  #positions = 0;

  save(record: PushRecord, { tenant, owner }: Scope): void {
    const { taskId, config, progress } = record;
    let webhooks = this.#tasks.get(taskId);
    if (!webhooks) this.#tasks.set(taskId, (webhooks = new Map()));
    let webhook = webhooks.get(config.id);
    if (!webhook) {
      webhook = { tenant, owner, position: ++this.#positions, record, deadLetters: [] };
      webhooks.set(config.id, webhook);
    }
    webhook.record = record;
    webhook.deadLetters = webhook.deadLetters.filter(({ seq }) => seq <= progress.cursor);
    this.#index(webhook);
  }

  list(taskId: string): PushRecord[] {
    return [...(this.#tasks.get(taskId)?.values() ?? [])].map(({ record }) => record);
  }

  delete(taskId: string, configId: string, only?: PushNotificationConfig): void {
    const webhooks = this.#tasks.get(taskId);
    const webhook = webhooks?.get(configId);
    if (!webhook || (only && !sameJson(webhook.record.config, only))) return;
    this.#due.delete(webhook);
    webhooks?.delete(configId);
    if (webhooks?.size === 0) this.#tasks.delete(taskId);
  }

  /** Saves new progress. `seq` is the number of the task's last entry. */
  change({ taskId, configId, progress, deadLetter }: PushChange, seq: number): void {
    const webhook = this.#tasks.get(taskId)?.get(configId);
    if (!webhook) return;
    const goesOn = progress.dueAt === undefined && progress.cursor < seq;
    this.#setProgress(webhook, goesOn ? { ...progress, dueAt: 0 } : progress);
    if (!deadLetter) return;
    webhook.deadLetters.push(deadLetter);
    if (webhook.deadLetters.length > MAX_DEAD_LETTERS) webhook.deadLetters.shift();
  }

  due({ after, limit }: DueQuery): DuePush[] {
    const due: DuePush[] = [];
    for (const { tenant, owner, position, record } of this.#due) {
      const { taskId, config, progress } = record;
      const dueAt = progress.dueAt ?? 0;
      if (after && !isBefore(after, { dueAt, position })) continue;
      due.push({ tenant, owner, taskId, configId: config.id, dueAt, position });
    }
    return due.toSorted((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, limit);
  }

  /** Makes the webhooks of a task due, because the task continues. */
  resume(taskId: string): void {
    for (const webhook of this.#tasks.get(taskId)?.values() ?? []) {
      const { progress } = webhook.record;
      if (progress.dueAt === undefined) this.#setProgress(webhook, { ...progress, dueAt: 0 });
    }
  }

  deadLetters({ tenant, owner, taskId, configId, limit }: DeadLetterQuery): DeadLetter[] {
    const found: DeadLetter[] = [];
    const tasks = taskId === undefined ? this.#tasks.keys() : [taskId];
    for (const task of tasks) {
      for (const [id, webhook] of this.#tasks.get(task) ?? []) {
        if (webhook.tenant !== tenant || webhook.owner !== owner) continue;
        if (configId === undefined || configId === id) found.push(...webhook.deadLetters);
      }
    }
    return found.toSorted((a, b) => b.at - a.at || b.seq - a.seq).slice(0, limit);
  }

  /** Removes the webhooks of a task. */
  forget(taskId: string): void {
    for (const webhook of this.#tasks.get(taskId)?.values() ?? []) this.#due.delete(webhook);
    this.#tasks.delete(taskId);
  }

  clear(): void {
    this.#tasks.clear();
    this.#due.clear();
  }

  #setProgress(webhook: Webhook, progress: PushProgress): void {
    webhook.record = { ...webhook.record, progress };
    this.#index(webhook);
  }

  #index(webhook: Webhook): void {
    if (webhook.record.progress.dueAt === undefined) this.#due.delete(webhook);
    else this.#due.add(webhook);
  }
}

type Place = Pick<DuePush, 'dueAt' | 'position'>;

function isBefore(a: Place, b: Place): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.position < b.position);
}
