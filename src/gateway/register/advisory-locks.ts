/** The keys of the register's advisory locks in PostgreSQL. They begin with "PrlG" in ASCII. */
export const REGISTER_LOCKS = {
  /** Held by the node that changes keys, model cards or agents. */
  change: 0x50726c4701,
  /**
   * Held in shared mode to reserve, settle or recover calls. Held in exclusive mode to create a counter from the stored
   * usage.
   */
  counters: 0x50726c4702,
  /** Held by the node that merges and removes old usage. */
  fold: 0x50726c4703,
  /** Held by the node that removes old links to the tasks of agents. */
  links: 0x50726c4704,
};
