/** The tables of keys in the register. */
export const KEYS_SCHEMA = `
`;
