/** Who changed what. Called inside the transaction of the change, so that both are there or neither. */
export interface Audit {
  record(entry: AuditEntry): void;
}

export interface AuditEntry {
  readonly workspace: string;
  /** The caller's `actor`, or `cli`, or `gateway` for the first key. */
  readonly actor: string;
  /** `key.create`, `card.update`, `agent.delete`. */
  readonly action: string;
  /** The id of what was changed. */
  readonly subject: string;
  /** Facts worth keeping. Never a secret. */
  readonly detail?: Readonly<Record<string, unknown>>;
}
