/** What the commands about stored sessions share. */
export const SESSION_FLAGS = {
  user: {
    type: 'string',
    value: 'NAME',
    help: 'The sessions of this user of --keys; by default those without one, as of parley -p.',
  },
  store: {
    type: 'string',
    value: 'S',
    help: 'The store that they are beside: sqlite:PATH. By default the one in the data folder.',
  },
} as const;
