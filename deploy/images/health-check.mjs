// Whether the program of this container works: status 0 if it does. Run by Docker, podman and compose.
import { readFileSync, statSync } from 'node:fs';
import { get } from 'node:http';
import { get as getByTls } from 'node:https';

/** Above the 5 s that a check of the admin may take. */
const MS_MAX = 5_500;

/** An agent writes each 5 s how it is. */
const SILENCE_MS_MAX = 20_000;

const { ADMIN_API_PORT, ADMIN_TLS_CERT_FILE, AGENT_DATA_DIR, RELAY_HOSTNAME, RELAY_PORT } = process.env;

if (AGENT_DATA_DIR) askFile(`${AGENT_DATA_DIR}/health.json`);
else if (RELAY_HOSTNAME) ask(getByTls, `https://127.0.0.1:${RELAY_PORT || 443}/derp/probe`);
else if (ADMIN_TLS_CERT_FILE) ask(getByTls, `https://127.0.0.1:${ADMIN_API_PORT || 44_000}/readyz`);
else ask(get, `http://127.0.0.1:${ADMIN_API_PORT || 44_000}/readyz`);

function askFile(file) {
  const isFresh = Date.now() - statSync(file).mtimeMs < SILENCE_MS_MAX;
  process.exitCode = isFresh && JSON.parse(readFileSync(file, 'utf8')).services_ok ? 0 : 1;
}

function ask(by, url) {
  // on loopback nobody else answers, and the certificate is of another name
  const asked = by(url, { rejectUnauthorized: false, timeout: MS_MAX }, (answer) => {
    answer.resume();
    process.exitCode = answer.statusCode === 200 ? 0 : 1;
  });
  asked.on('timeout', () => asked.destroy(new Error('no answer in time')));
  asked.on('error', () => {
    process.exitCode = 1;
  });
}
