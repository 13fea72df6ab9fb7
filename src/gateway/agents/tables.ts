/** The tables of agents in the register. */
export const AGENTS_SCHEMA = `
`;
