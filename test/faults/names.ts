/** Names that the nodes and the run share. */
export const MODEL = 'm';
/** The name of the agent behind the gateway. */
export const BEHIND = 'faults';
export const SECRET_KEY = 'a secret that all nodes have';
