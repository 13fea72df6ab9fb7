
CREATE SCHEMA parley;
CREATE FUNCTION parley.append_1(node_id text, task_ids text[], scopes bigint[], context_ids text[], expected_seqs integer[], counts integer[], epochs integer[], logs text[], message_lists text[], open_states text[], open_seqs integer[], done_states text[], done_seqs integer[], sizes bigint[], artifact_times bigint[], expiry_times bigint[], positions integer[]) RETURNS text
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
  a record;
  t record;
  outcomes text := '';
  base bigint := extract(epoch FROM clock_timestamp()) * 1024000;
  now_at bigint;
  ids text[];
  new_state text;
  new_seq integer;
  new_size bigint;
  row_id bigint;
  moved_scopes bigint[] := '{}';
  moved_states text[] := '{}';
  moved_numbers bigint[] := '{}';
  moved_sizes bigint[] := '{}';
BEGIN
  FOR a IN
    SELECT * FROM unnest(task_ids, scopes, context_ids, expected_seqs, counts, epochs, logs, message_lists,
      open_states, open_seqs, done_states, done_seqs, sizes, artifact_times, expiry_times, positions)
      AS u (task_id, scope, context_id, expected, entries, epoch, log, messages, open_state, open_seq, done_state,
        done_seq, size, artifact_at, expires_at, position)
  LOOP
    now_at := base + a.position;
    ids := string_to_array(a.messages, U&'\FFFF\FFFF');
    IF ids IS NOT NULL AND EXISTS
      (SELECT FROM parley.messages m WHERE m.scope = a.scope AND m.message_id = ANY (ids)) THEN
      outcomes := outcomes || '0';
      CONTINUE;
    END IF;
    IF a.expected = 0 THEN
      INSERT INTO parley.tasks AS k (task_id, scope, context_id, state, seq, status_seq, changed, created_at,
          expires_at, artifact_at, bytes, counted, epoch, node)
        VALUES (a.task_id, a.scope, a.context_id, a.open_state, a.entries, a.open_seq, now_at, now_at / 1024,
          a.expires_at, a.artifact_at, a.size, a.size, coalesce(a.epoch, 0),
          CASE WHEN a.epoch IS NOT NULL THEN node_id END)
        ON CONFLICT (task_id) DO NOTHING RETURNING k.id INTO row_id;
      IF row_id IS NULL THEN
        outcomes := outcomes || '0';
        CONTINUE;
      END IF;
      moved_scopes := moved_scopes || a.scope;
      moved_states := moved_states || a.open_state;
      moved_numbers := moved_numbers || 1::bigint;
      moved_sizes := moved_sizes || a.size;
    ELSE
      SELECT k.id, k.state, k.counted INTO t FROM parley.tasks k
        WHERE k.task_id = a.task_id AND k.seq = a.expected AND k.scope = a.scope
          AND (a.epoch IS NULL OR k.epoch = a.epoch)
        FOR NO KEY UPDATE;
      row_id := t.id;
      IF row_id IS NULL THEN
        outcomes := outcomes || '0';
        CONTINUE;
      END IF;
      new_state := CASE
        WHEN t.state = 'completed' THEN a.done_state
        WHEN t.state IN ('failed', 'canceled', 'rejected') THEN NULL
        ELSE a.open_state END;
      new_seq := CASE WHEN t.state = 'completed' THEN a.done_seq ELSE a.open_seq END;
      IF new_state IS NULL THEN
        UPDATE parley.tasks k SET
            seq = a.expected + a.entries, artifact_at = a.artifact_at, bytes = k.bytes + a.size
          WHERE k.id = row_id;
      ELSE
        UPDATE parley.tasks k SET
            seq = a.expected + a.entries, artifact_at = a.artifact_at, bytes = k.bytes + a.size,
            state = new_state, status_seq = new_seq, changed = greatest(k.changed + 1, now_at),
            counted = CASE WHEN k.state = new_state THEN k.counted ELSE k.bytes + a.size END
          WHERE k.id = row_id RETURNING k.counted INTO new_size;
        IF new_state <> t.state THEN
          moved_scopes := moved_scopes || a.scope || a.scope;
          moved_states := moved_states || t.state || new_state;
          moved_numbers := moved_numbers || (-1)::bigint || 1::bigint;
          moved_sizes := moved_sizes || -t.counted || new_size;
        END IF;
      END IF;
      IF t.state NOT IN ('submitted', 'working', 'unknown') THEN
        UPDATE parley.push p SET due_at = 0 WHERE p.task = row_id AND p.due_at IS NULL;
      END IF;
    END IF;
    IF ids IS NOT NULL THEN
      INSERT INTO parley.messages (scope, message_id, task)
        SELECT DISTINCT a.scope, m.id, row_id FROM unnest(ids) AS m (id);
    END IF;
    INSERT INTO parley.events (task, seq, json)
      SELECT row_id, a.expected + e.n, e.json
      FROM unnest(string_to_array(a.log, E'\n')) WITH ORDINALITY AS e (json, n);
    outcomes := outcomes || '1';
  END LOOP;
  IF moved_scopes <> '{}' THEN
    INSERT INTO parley.counters AS c (scope, state, shard, n, bytes)
      SELECT u.scope, u.state, pg_backend_pid() % 8, sum(u.n), sum(u.bytes)
      FROM unnest(moved_scopes, moved_states, moved_numbers, moved_sizes) AS u (scope, state, n, bytes)
      GROUP BY u.scope, u.state ORDER BY u.scope, u.state
      ON CONFLICT (scope, state, shard) DO UPDATE SET n = c.n + excluded.n, bytes = c.bytes + excluded.bytes;
  END IF;
  RETURN outcomes;
END $$;
CREATE TABLE parley.agents (
    workspace text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    settings text NOT NULL COLLATE pg_catalog."C",
    headers bytea,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE TABLE parley.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    workspace text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    scopes text NOT NULL COLLATE pg_catalog."C",
    rate_limit text COLLATE pg_catalog."C",
    budget text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint,
    rotated_at bigint,
    revoked_at bigint,
    last_used_at bigint
);
CREATE TABLE parley.artifacts (
    place bytea NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    json text NOT NULL
);
CREATE TABLE parley.audit (
    workspace text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL COLLATE pg_catalog."C",
    actor_name text COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    detail text COLLATE pg_catalog."C"
);
CREATE TABLE parley.budget_counters (
    holder text NOT NULL COLLATE pg_catalog."C",
    period text NOT NULL COLLATE pg_catalog."C",
    currency text NOT NULL COLLATE pg_catalog."C",
    calls bigint NOT NULL,
    tokens bigint NOT NULL,
    nanos bigint NOT NULL,
    reserved_tokens bigint NOT NULL,
    reserved_nanos bigint NOT NULL,
    used_on text NOT NULL COLLATE pg_catalog."C"
)
WITH (fillfactor='50');
CREATE TABLE parley.card_versions (
    card bigint NOT NULL,
    version bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL COLLATE pg_catalog."C",
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C",
    content text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE parley.card_workspaces (
    number bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    live bigint DEFAULT 0 NOT NULL,
    deleted bigint DEFAULT 0 NOT NULL
);
ALTER TABLE parley.card_workspaces ALTER COLUMN number ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME parley.card_workspaces_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE parley.cards (
    "row" bigint NOT NULL,
    workspace bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    deleted bigint,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    text text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    terms text[] DEFAULT '{}'::text[] NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE parley.cards ALTER COLUMN "row" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME parley.cards_row_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE parley.counters (
    scope bigint NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    shard smallint NOT NULL,
    n bigint NOT NULL,
    bytes bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
CREATE TABLE parley.dead_letters (
    push bigint NOT NULL,
    seq integer NOT NULL,
    scope bigint NOT NULL,
    reason text NOT NULL,
    attempts integer NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE parley.events (
    task bigint NOT NULL,
    seq integer NOT NULL,
    json text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.1');
CREATE TABLE parley.key_salt (
    one integer NOT NULL,
    salt bytea NOT NULL,
    CONSTRAINT key_salt_one_check CHECK ((one = 1))
);
CREATE TABLE parley.key_secrets (
    prefix text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    pepper text NOT NULL COLLATE pg_catalog."C",
    ends_at bigint
);
CREATE TABLE parley.links (
    id bigint NOT NULL,
    workspace text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    context_id text NOT NULL COLLATE pg_catalog."C",
    remote_task_id text COLLATE pg_catalog."C",
    remote_context_id text COLLATE pg_catalog."C",
    saved_at bigint NOT NULL,
    sender text NOT NULL COLLATE pg_catalog."C",
    headers bytea
);
ALTER TABLE parley.links ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME parley.links_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE parley.messages (
    scope bigint NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    task bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02');
CREATE TABLE parley.meta (
    key text NOT NULL,
    value bytea NOT NULL
);
CREATE TABLE parley.nodes (
    id text NOT NULL COLLATE pg_catalog."C",
    number integer NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    locked boolean DEFAULT false NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE parley.nodes ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME parley.nodes_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE parley.push (
    id bigint NOT NULL,
    task bigint NOT NULL,
    config_id text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    config bytea NOT NULL,
    sealed boolean NOT NULL,
    view text,
    cursor integer NOT NULL,
    attempts integer NOT NULL,
    failing_since bigint,
    due_at bigint,
    node text COLLATE pg_catalog."C"
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE parley.push ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME parley.push_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE UNLOGGED TABLE parley.rate_buckets (
    name text NOT NULL COLLATE pg_catalog."C",
    remaining double precision NOT NULL,
    at timestamp with time zone NOT NULL,
    taken double precision NOT NULL,
    wanted double precision NOT NULL,
    burst double precision NOT NULL,
    rate double precision NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE parley.register_changes (
    one integer NOT NULL,
    number bigint NOT NULL,
    CONSTRAINT register_changes_one_check CHECK ((one = 1))
);
CREATE TABLE parley.requests (
    id bigint NOT NULL,
    node text NOT NULL COLLATE pg_catalog."C",
    sender text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL,
    taken boolean DEFAULT false NOT NULL,
    answer text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
ALTER TABLE parley.requests ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME parley.requests_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE parley.reservations (
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    expires_at bigint NOT NULL,
    workspace text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    context_id text NOT NULL COLLATE pg_catalog."C",
    day text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    currency text NOT NULL COLLATE pg_catalog."C",
    input_tokens bigint NOT NULL,
    seen_tokens bigint NOT NULL,
    input_nanos bigint NOT NULL,
    output_price double precision NOT NULL,
    tokens bigint NOT NULL,
    nanos bigint NOT NULL,
    recovered boolean DEFAULT false NOT NULL,
    left_at timestamp with time zone
);
CREATE TABLE parley.schema_versions (
    name text NOT NULL,
    version integer NOT NULL
);
CREATE TABLE parley.scopes (
    id bigint NOT NULL,
    key bytea NOT NULL,
    tenant text NOT NULL,
    owner text NOT NULL
);
ALTER TABLE parley.scopes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME parley.scopes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE SEQUENCE parley.session_changes
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE parley.session_events (
    session bigint NOT NULL,
    seq integer NOT NULL,
    event_id text NOT NULL COLLATE pg_catalog."C",
    batch uuid NOT NULL,
    json text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.1');
CREATE TABLE parley.session_state (
    place bytea NOT NULL,
    hash bytea NOT NULL,
    key text NOT NULL,
    json text NOT NULL
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');
CREATE TABLE parley.sessions (
    id bigint NOT NULL,
    key bytea NOT NULL,
    owner bytea NOT NULL,
    app text NOT NULL,
    session_id text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    changed bigint NOT NULL,
    seq integer NOT NULL,
    size bigint NOT NULL
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE parley.sessions ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME parley.sessions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE parley.settled (
    batch text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE parley.spending (
    workspace text NOT NULL COLLATE pg_catalog."C",
    day text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    currency text NOT NULL COLLATE pg_catalog."C",
    uses bigint NOT NULL,
    failures bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    nanos bigint NOT NULL
);
CREATE TABLE parley.task_spending (
    number bigint NOT NULL,
    workspace text NOT NULL COLLATE pg_catalog."C",
    day text NOT NULL COLLATE pg_catalog."C",
    context_id text NOT NULL COLLATE pg_catalog."C",
    task_id text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    agent text NOT NULL COLLATE pg_catalog."C",
    currency text NOT NULL COLLATE pg_catalog."C",
    uses bigint NOT NULL,
    failures bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    nanos bigint NOT NULL
);
ALTER TABLE parley.task_spending ALTER COLUMN number ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME parley.task_spending_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE parley.tasks (
    id bigint NOT NULL,
    task_id text NOT NULL COLLATE pg_catalog."C",
    scope bigint NOT NULL,
    context_id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    seq integer NOT NULL,
    status_seq integer NOT NULL,
    changed bigint NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    artifact_at bigint,
    bytes bigint NOT NULL,
    counted bigint NOT NULL,
    epoch integer DEFAULT 0 NOT NULL,
    node text COLLATE pg_catalog."C"
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE parley.tasks ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME parley.tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO parley.api_keys VALUES ('01a1e528-16ad-7dfa-9ef0-337182dc474d', 'default', 'fixture', '["*"]', NULL, NULL, 1794845972141, NULL, NULL, NULL, NULL);
INSERT INTO parley.artifacts VALUES ('\x01b020250814493e34e46d83481c5f79d17c4dec917582bc3eeb551e96cddaf8', 'note.txt', 0, '{"kind":"text","text":"a note"}');
INSERT INTO parley.audit VALUES ('default', 1, 1794845972160, 'program', NULL, 'key.create', '01a1e528-16ad-7dfa-9ef0-337182dc474d', '{"name":"fixture","scopes":["*"]}');
INSERT INTO parley.counters VALUES (1, 'completed', 0, 1, 1546);
INSERT INTO parley.counters VALUES (1, 'input-required', 0, 1, 1371);
INSERT INTO parley.counters VALUES (1, 'submitted', 0, 0, 0);
INSERT INTO parley.events VALUES (1, 1, '{"kind":"task","id":"01a1e528-14f0-72b3-9505-742c07e9b3f4","contextId":"01a1e528-14f0-7072-8e5a-2f52edc27649","status":{"state":"submitted","timestamp":"2026-11-16T16:19:31.696Z"},"history":[{"kind":"message","messageId":"01a1e528-14ae-758c-9c4b-f5e6973c2f8b","role":"user","parts":[{"kind":"text","text":"hello"}],"taskId":"01a1e528-14f0-72b3-9505-742c07e9b3f4","contextId":"01a1e528-14f0-7072-8e5a-2f52edc27649"}]}');
INSERT INTO parley.events VALUES (1, 2, '{"kind":"status-update","taskId":"01a1e528-14f0-72b3-9505-742c07e9b3f4","contextId":"01a1e528-14f0-7072-8e5a-2f52edc27649","status":{"state":"working","timestamp":"2026-11-16T16:19:31.734Z"},"final":false}');
INSERT INTO parley.events VALUES (1, 3, '{"kind":"artifact-update","taskId":"01a1e528-14f0-72b3-9505-742c07e9b3f4","contextId":"01a1e528-14f0-7072-8e5a-2f52edc27649","artifact":{"artifactId":"response-01a1e528-14ae-758c-9c4b-f5e6973c2f8b","name":"response","parts":[{"kind":"text","text":"you said hello"}],"metadata":{"parley.oneText":true}},"lastChunk":true}');
INSERT INTO parley.events VALUES (1, 4, '{"kind":"status-update","taskId":"01a1e528-14f0-72b3-9505-742c07e9b3f4","contextId":"01a1e528-14f0-7072-8e5a-2f52edc27649","status":{"state":"completed","timestamp":"2026-11-16T16:19:31.734Z"},"final":true}');
INSERT INTO parley.events VALUES (2, 1, '{"kind":"task","id":"01a1e528-1548-70ec-9f50-8fb3b6ee0f04","contextId":"01a1e528-1548-7cb1-82ff-3c80bf1271b8","status":{"state":"submitted","timestamp":"2026-11-16T16:19:31.784Z"},"history":[{"kind":"message","messageId":"01a1e528-152a-7953-9657-9d99dcafe551","role":"user","parts":[{"kind":"text","text":"ask"}],"taskId":"01a1e528-1548-70ec-9f50-8fb3b6ee0f04","contextId":"01a1e528-1548-7cb1-82ff-3c80bf1271b8"}]}');
INSERT INTO parley.events VALUES (2, 2, '{"kind":"status-update","taskId":"01a1e528-1548-70ec-9f50-8fb3b6ee0f04","contextId":"01a1e528-1548-7cb1-82ff-3c80bf1271b8","status":{"state":"working","timestamp":"2026-11-16T16:19:31.795Z"},"final":false}');
INSERT INTO parley.events VALUES (2, 3, '{"kind":"status-update","taskId":"01a1e528-1548-70ec-9f50-8fb3b6ee0f04","contextId":"01a1e528-1548-7cb1-82ff-3c80bf1271b8","status":{"state":"input-required","timestamp":"2026-11-16T16:19:31.800Z","message":{"kind":"message","messageId":"01a1e528-1558-78c2-b22d-85a828a11177","role":"agent","parts":[{"kind":"text","text":"Which city?"}],"contextId":"01a1e528-1548-7cb1-82ff-3c80bf1271b8","taskId":"01a1e528-1548-70ec-9f50-8fb3b6ee0f04"}},"final":true}');
INSERT INTO parley.key_salt VALUES (1, '\x7a201ec96654ea951ce87a246658920a795ff7fc3062d665267b88bae5ccbb41');
INSERT INTO parley.key_secrets VALUES ('b6e3054f142b', '01a1e528-16ad-7dfa-9ef0-337182dc474d', '\x098cb80a1e2117bc35c4b0c8c2a7679e7cef2a874325e2a70667129d1f92d1b1', 'd083f34ef40661ef', NULL);
INSERT INTO parley.messages VALUES (1, '01a1e528-14ae-758c-9c4b-f5e6973c2f8b', 1);
INSERT INTO parley.messages VALUES (1, '01a1e528-152a-7953-9657-9d99dcafe551', 2);
INSERT INTO parley.meta VALUES ('cursor_key', '\xe689ba4631254d4cb20004045bcacd81acac1fd8925e4855bd7e8e6788f31aa1');
INSERT INTO parley.meta VALUES ('secret_salt', '\xbde4d7c5f1254848920cb900f9b2ba1b');
INSERT INTO parley.register_changes VALUES (1, 2);
INSERT INTO parley.schema_versions VALUES ('tasks', 2);
INSERT INTO parley.schema_versions VALUES ('cluster', 1);
INSERT INTO parley.schema_versions VALUES ('sessions', 1);
INSERT INTO parley.schema_versions VALUES ('gateway', 2);
INSERT INTO parley.scopes OVERRIDING SYSTEM VALUE VALUES (1, '\x9b0eee22342c8f8d4311131cfbedaff3d6fb3488d61f0d0938eead80c3688d2e', '', '');
INSERT INTO parley.session_events VALUES (1, 1, '01a1e528-164f-7e39-9a0f-4da9838d2301', '59431348-4afc-49cf-abdd-8e44c6637242', '{"id":"01a1e528-164f-7e39-9a0f-4da9838d2301","runId":"01a1e528-15c4-7b30-8e04-68f9459257e0","author":"user","timestamp":1794845972047,"actions":{},"content":{"role":"user","parts":[{"kind":"text","text":"remember the fixture"}]},"metadata":{"first":"host"}}');
INSERT INTO parley.session_events VALUES (1, 2, '01a1e528-1665-7783-bae5-4b192666a233', '66492d13-cf20-40af-8292-ff0e0467e160', '{"id":"01a1e528-1665-7783-bae5-4b192666a233","runId":"01a1e528-15c4-7b30-8e04-68f9459257e0","author":"host","timestamp":1794845972088,"actions":{"checkpoint":{"path":"host","value":"done"}},"content":{"role":"model","parts":[{"kind":"text","text":"I cannot do \"remember TEXT\" here: the tool save_memory is not available."}]},"usage":{"inputTokens":5,"outputTokens":18},"metadata":{"model":"offline","finishReason":"stop"}}');
INSERT INTO parley.sessions OVERRIDING SYSTEM VALUE VALUES (1, '\x01b020250814493e34e46d83481c5f79d17c4dec917582bc3eeb551e96cddaf8', '\xd5cecb06e4406b73f8b30bc0797db9ff31be69144054acbbe0150a8f3a926276', 'fixture', 's1', 1794845972026, 1794845972088, 3, 2, 681);
INSERT INTO parley.tasks OVERRIDING SYSTEM VALUE VALUES (1, '01a1e528-14f0-72b3-9505-742c07e9b3f4', 1, '01a1e528-14f0-7072-8e5a-2f52edc27649', 'completed', 4, 4, 1837922275059315, 1794845971716, NULL, NULL, 1546, 1546, 1, '01a1e5281143749daabdfa0e67ae5e3f');
INSERT INTO parley.tasks OVERRIDING SYSTEM VALUE VALUES (2, '01a1e528-1548-70ec-9f50-8fb3b6ee0f04', 1, '01a1e528-1548-7cb1-82ff-3c80bf1271b8', 'input-required', 3, 3, 1837922275126084, 1794845971793, NULL, NULL, 1371, 1371, 1, '01a1e5281143749daabdfa0e67ae5e3f');
SELECT pg_catalog.setval('parley.card_workspaces_number_seq', 1, false);
SELECT pg_catalog.setval('parley.cards_row_seq', 1, false);
SELECT pg_catalog.setval('parley.links_id_seq', 1, false);
SELECT pg_catalog.setval('parley.nodes_number_seq', 2, true);
SELECT pg_catalog.setval('parley.push_id_seq', 1, false);
SELECT pg_catalog.setval('parley.requests_id_seq', 1, false);
SELECT pg_catalog.setval('parley.scopes_id_seq', 1, true);
SELECT pg_catalog.setval('parley.session_changes', 3, true);
SELECT pg_catalog.setval('parley.sessions_id_seq', 1, true);
SELECT pg_catalog.setval('parley.task_spending_number_seq', 1, false);
SELECT pg_catalog.setval('parley.tasks_id_seq', 2, true);
ALTER TABLE ONLY parley.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (workspace, name);
ALTER TABLE ONLY parley.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parley.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (place, name, version);
ALTER TABLE ONLY parley.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (workspace, number);
ALTER TABLE ONLY parley.budget_counters
    ADD CONSTRAINT budget_counters_pkey PRIMARY KEY (holder, period, currency);
ALTER TABLE ONLY parley.card_versions
    ADD CONSTRAINT card_versions_pkey PRIMARY KEY (card, version);
ALTER TABLE ONLY parley.card_workspaces
    ADD CONSTRAINT card_workspaces_name_key UNIQUE (name);
ALTER TABLE ONLY parley.card_workspaces
    ADD CONSTRAINT card_workspaces_pkey PRIMARY KEY (number);
ALTER TABLE ONLY parley.cards
    ADD CONSTRAINT cards_pkey PRIMARY KEY ("row");
ALTER TABLE ONLY parley.counters
    ADD CONSTRAINT counters_pkey PRIMARY KEY (scope, state, shard);
ALTER TABLE ONLY parley.dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (push, seq);
ALTER TABLE ONLY parley.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (task, seq);
ALTER TABLE ONLY parley.key_salt
    ADD CONSTRAINT key_salt_pkey PRIMARY KEY (one);
ALTER TABLE ONLY parley.key_secrets
    ADD CONSTRAINT key_secrets_pkey PRIMARY KEY (prefix);
ALTER TABLE ONLY parley.links
    ADD CONSTRAINT links_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parley.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (scope, message_id);
ALTER TABLE ONLY parley.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (key);
ALTER TABLE ONLY parley.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parley.push
    ADD CONSTRAINT push_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parley.push
    ADD CONSTRAINT push_task_config_id_key UNIQUE (task, config_id);
ALTER TABLE ONLY parley.rate_buckets
    ADD CONSTRAINT rate_buckets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY parley.register_changes
    ADD CONSTRAINT register_changes_pkey PRIMARY KEY (one);
ALTER TABLE ONLY parley.requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parley.reservations
    ADD CONSTRAINT reservations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parley.schema_versions
    ADD CONSTRAINT schema_versions_pkey PRIMARY KEY (name);
ALTER TABLE ONLY parley.scopes
    ADD CONSTRAINT scopes_key_key UNIQUE (key);
ALTER TABLE ONLY parley.scopes
    ADD CONSTRAINT scopes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parley.session_events
    ADD CONSTRAINT session_events_pkey PRIMARY KEY (session, seq);
ALTER TABLE ONLY parley.session_events
    ADD CONSTRAINT session_events_session_event_id_key UNIQUE (session, event_id);
ALTER TABLE ONLY parley.session_state
    ADD CONSTRAINT session_state_pkey PRIMARY KEY (place, hash);
ALTER TABLE ONLY parley.sessions
    ADD CONSTRAINT sessions_key_key UNIQUE (key);
ALTER TABLE ONLY parley.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parley.settled
    ADD CONSTRAINT settled_pkey PRIMARY KEY (batch);
ALTER TABLE ONLY parley.spending
    ADD CONSTRAINT spending_pkey PRIMARY KEY (workspace, day, key_id, subject, model, agent, currency);
ALTER TABLE ONLY parley.task_spending
    ADD CONSTRAINT task_spending_pkey PRIMARY KEY (workspace, number);
ALTER TABLE ONLY parley.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY parley.tasks
    ADD CONSTRAINT tasks_task_id_key UNIQUE (task_id);
CREATE INDEX api_keys_of_workspace ON parley.api_keys USING btree (workspace, created_at, id);
CREATE INDEX cards_created ON parley.cards USING btree (workspace, created, "row");
CREATE INDEX cards_deleted ON parley.cards USING btree (workspace, deleted) WHERE (deleted IS NOT NULL);
CREATE UNIQUE INDEX cards_id ON parley.cards USING btree (workspace, id);
CREATE UNIQUE INDEX cards_live_slug ON parley.cards USING btree (workspace, slug) WHERE (deleted IS NULL);
CREATE INDEX cards_name ON parley.cards USING btree (workspace, lower(name), "row");
CREATE INDEX cards_slug ON parley.cards USING btree (workspace, slug, "row");
CREATE INDEX cards_terms ON parley.cards USING gin (terms);
CREATE INDEX cards_updated ON parley.cards USING btree (workspace, updated, "row");
CREATE INDEX dead_letters_by_scope ON parley.dead_letters USING btree (scope, at, seq);
CREATE INDEX key_secrets_of_key ON parley.key_secrets USING btree (key_id);
CREATE INDEX links_by_context ON parley.links USING btree (workspace, agent, context_id, id);
CREATE UNIQUE INDEX links_by_task ON parley.links USING btree (workspace, agent, task_id);
CREATE INDEX messages_by_task ON parley.messages USING btree (task);
CREATE INDEX push_by_due ON parley.push USING btree (due_at, id) WHERE (due_at IS NOT NULL);
CREATE INDEX requests_from ON parley.requests USING btree (sender) WHERE (answer IS NOT NULL);
CREATE INDEX requests_to ON parley.requests USING btree (node) WHERE (NOT taken);
CREATE INDEX reservations_of_owner ON parley.reservations USING btree (owner);
CREATE INDEX reservations_of_workspace ON parley.reservations USING btree (workspace, day);
CREATE INDEX sessions_by_age ON parley.sessions USING btree (updated_at);
CREATE INDEX sessions_by_change ON parley.sessions USING btree (owner, changed);
CREATE INDEX spending_by_day ON parley.spending USING btree (day) WHERE (length(day) = 10);
CREATE INDEX spending_of_key ON parley.spending USING btree (key_id, day);
CREATE INDEX spending_of_subject ON parley.spending USING btree (workspace, subject, day) WHERE (subject <> ''::text);
CREATE INDEX task_spending_by_day ON parley.task_spending USING btree (day);
CREATE UNIQUE INDEX task_spending_without_task ON parley.task_spending USING btree (workspace, day, context_id, key_id, subject, model, agent, currency) WHERE (task_id = ''::text);
CREATE INDEX tasks_by_context ON parley.tasks USING btree (scope, context_id, state, changed, id);
CREATE INDEX tasks_by_expiry ON parley.tasks USING btree (expires_at, id) WHERE (expires_at IS NOT NULL);
CREATE INDEX tasks_by_state ON parley.tasks USING btree (scope, state, changed, id);
CREATE INDEX tasks_finished ON parley.tasks USING btree (changed, id) WHERE (state = ANY (ARRAY['completed'::text, 'canceled'::text, 'failed'::text, 'rejected'::text]));
CREATE INDEX tasks_unfinished ON parley.tasks USING btree (node, id) WHERE (state = ANY (ARRAY['submitted'::text, 'working'::text]));
ALTER TABLE ONLY parley.card_versions
    ADD CONSTRAINT card_versions_card_fkey FOREIGN KEY (card) REFERENCES parley.cards("row") ON DELETE CASCADE;
ALTER TABLE ONLY parley.cards
    ADD CONSTRAINT cards_workspace_fkey FOREIGN KEY (workspace) REFERENCES parley.card_workspaces(number);
ALTER TABLE ONLY parley.key_secrets
    ADD CONSTRAINT key_secrets_key_id_fkey FOREIGN KEY (key_id) REFERENCES parley.api_keys(id);
