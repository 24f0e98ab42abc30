/** `/guide/ssh`. */
import { knowsAdmin, type GuideFacts, type GuidePage, type Section } from './page.ts';
import { knowsProxy } from './proxy.ts';

/** The page. */
export function sshPage(facts: GuideFacts): GuidePage {
  return {
    name: 'SSH',
    title: 'SSH',
    lead: 'Each agent has an SSH server, reached through the admin. Who may log in is kept at the admin: a username of a machine with keys, a password, or both. OpenSSH and everything that uses it works as with any other machine.',
    sections: [
      { title: 'Before you begin', blocks: [...knowsAdmin(facts), ...knowsProxy(facts)] },
      LET_SOMEBODY_IN,
      LOG_IN,
      COPY_FILES,
      FILES_OF_MANY_MACHINES,
      plainSshRsyncGitAndEditors(facts),
      TAKE_IT_BACK,
      WHO_BECOMES_WHAT,
      HOW_A_LOGIN_IS_DECIDED,
      RECORDINGS,
      SETTINGS,
      { title: 'Operations', blocks: [{ kind: 'operations', picks: (path) => path.includes('ssh_') }] },
    ],
  };
}

const LET_SOMEBODY_IN: Section = {
  title: 'Let somebody in',
  blocks: [
    {
      kind: 'text',
      text: 'Where the agent runs as root, somebody logs in as the account of that name on the machine. If there is none yet, make it there:',
    },
    {
      kind: 'shell',
      where: 'machine',
      commands: 'useradd --create-home --shell /bin/bash deploy',
      untested: 'it makes an account',
    },
    { kind: 'text', text: 'You need a key pair. This makes one where there is none:' },
    {
      kind: 'shell',
      commands:
        "[ -f ~/.ssh/id_ed25519 ] || ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519\nedge sshuser add web-1 deploy --public-key @~/.ssh/id_ed25519.pub",
      prints: 'id            01a1ff65-7894-7000-bf76-5935ab65cdb4\nusername      deploy\nhas_password  false\n…',
    },
    {
      kind: 'shell',
      commands: 'edge sshuser ls -n web-1',
      prints: 'USERNAME  NODE   PASSWORD  CREATED  ID\ndeploy    web-1  no        1s       01a1ff65',
    },
    {
      kind: 'text',
      text: 'Keys are ed25519, ECDSA, or RSA of 2,048 bits or more. `--password` asks for a password of 12 to 128 characters, which is kept as Argon2id.',
    },
  ],
};

const LOG_IN: Section = {
  title: 'Log in',
  blocks: [
    { kind: 'shell', commands: 'edge ssh deploy@web-1 -- uname -s', prints: '…Linux' },
    {
      kind: 'text',
      text: 'Without a command it is a shell in a terminal. Options of `ssh` go before or after the name of the machine. Host keys come from the service, to which agents tell theirs; `edge` says so in one line when one is another than before. The host key of an agent that tells none (of before this version) is trusted on first use, and remembered, in `~/.config/edge/known_hosts`.',
    },
  ],
};

const COPY_FILES: Section = {
  title: 'Copy files',
  blocks: [
    {
      kind: 'shell',
      commands:
        "echo 'a note' > note.txt\nedge cp note.txt deploy@web-1:note-of-mine.txt\nedge ssh deploy@web-1 -- cat note-of-mine.txt",
      prints: '…a note',
    },
  ],
};

const FILES_OF_MANY_MACHINES: Section = {
  title: 'Files of many machines',
  blocks: [
    {
      kind: 'text',
      text: '`edge push` copies files to all machines that you name as for a command (`-l SELECTOR`, `-c`, `-n`, `--in`, `--all`), 16 at a time, and `edge pull` fetches files of them into a directory each. The path on the machines stands behind a colon.',
    },
    {
      kind: 'shell',
      commands:
        'edge push note.txt -u deploy -n web-1:/tmp/\nedge pull -u deploy -n web-1:/tmp/note.txt notes\ncat notes/web-1/note.txt\nedge ssh deploy@web-1 -- rm /tmp/note.txt',
      prints:
        'web-1: /tmp/note.txt (7 B, SHA-256 …)\nedge: 1 of 1 done, …\nweb-1: notes/web-1/note.txt (7 B, SHA-256 …)\nedge: 1 of 1 done, …\na note',
    },
    {
      kind: 'list',
      items: [
        'A file comes beside its place under another name, and into its place once its SHA-256 is right: nobody sees half of one.',
        'What was interrupted goes on where it stopped when you say the same again, once what is there proves right. What is there already is not sent.',
        'A machine that fails has its line, and the others go on. The exit status is 6 where some failed, and 7 where some were away or cut off.',
        'Keys are those of your ssh-agent and of `~/.ssh`, or what `-i` names. `-u` is the username; without it, it is yours here.',
      ],
    },
  ],
};

function plainSshRsyncGitAndEditors({ domain }: GuideFacts): Section {
  return {
    title: 'Plain ssh, rsync, git and editors',
    blocks: [
      {
        kind: 'text',
        text: 'Once, for your account: this writes `~/.ssh/edge_config` and one line at the top of `~/.ssh/config`.',
      },
      {
        kind: 'shell',
        commands: 'edge ssh-config --include',
        prints: '…\nedge: done; ssh reads …/.ssh/edge_config from now on',
      },
      { kind: 'shell', commands: `ssh deploy@web-1.prod.${domain} uname -s`, prints: '…Linux' },
      {
        kind: 'text',
        text: 'From then on `scp`, `sftp`, `rsync`, `git` and remote editors know the names of machines. Programs that have no `EDGE_URL` and keys in their environment, as editors do, need `edge login` once. Forwards by `-L`, `-D` and `-R` to loopback work; for a lasting local port there is [edge forward](/guide/proxy#a-local-port).',
      },
    ],
  };
}

const TAKE_IT_BACK: Section = {
  title: 'Take it back',
  blocks: [
    {
      kind: 'text',
      text: 'A username or key that is removed ends the sessions that it opened, with their processes and forwards, within a second.',
    },
    { kind: 'shell', commands: 'edge sshuser rm web-1/deploy' },
  ],
};

const WHO_BECOMES_WHAT: Section = {
  title: 'Who becomes what',
  blocks: [
    {
      kind: 'list',
      items: [
        'Where the agent runs as root, a username that is also an account of the machine becomes that account: its user, groups, home and shell.',
        'Every other username is refused there. `AGENT_SSH_UNKNOWN_USERS=agent` on the machine makes it root instead, except where a directory service (LDAP and the like) is asked for accounts: one that is away looks like one without them.',
        'An agent that does not run as root is always its own user.',
      ],
    },
  ],
};

const HOW_A_LOGIN_IS_DECIDED: Section = {
  title: 'How a login is decided',
  blocks: [
    {
      kind: 'text',
      text: 'The machine checks the signature of the key, the admin decides, and every attempt is an event, [edge.ssh_username.verified](/asyncdoc#edge.ssh_username.verified). When no admin can be asked, the answer is no. Agent and X11 forwarding are refused, and nothing with SHA-1 is offered.',
    },
    {
      kind: 'text',
      text: 'The server listens on the loopback of the machine, port 40022. With `AGENT_SSH_HOST` it listens on further addresses, for people near it.',
    },
  ],
};

const RECORDINGS: Section = {
  title: 'Recordings',
  blocks: [
    {
      kind: 'text',
      text: 'With `SSH_RECORDING=pty` at the admin sessions with a terminal are recorded, with `all` commands too: what was shown, never what was typed. Recordings outlive their user and machine.',
    },
    { kind: 'shell', commands: 'edge recording ls', prints: 'ID  STARTED  SECONDS  USER  NODE  BYTES  COMMAND…' },
    {
      kind: 'text',
      text: '`edge recording play ID` shows one in the terminal, `edge recording save ID FILE` writes it as asciicast for other players.',
    },
  ],
};

const SETTINGS: Section = {
  title: 'Settings',
  blocks: [
    {
      kind: 'settings',
      program: 'edge-admin',
      rows: [
        ['SSH_RECORDING', '`off`', 'What is recorded: `off`, `pty` or `all`.'],
        ['SSH_RECORDING_RETENTION_DAYS', '`30`', 'Days for which recordings are kept.'],
      ],
    },
    {
      kind: 'settings',
      program: 'edge-agent',
      rows: [
        ['AGENT_SSH_ENABLED', '`true`', 'Whether users whom the admin lets in can log in.'],
        [
          'AGENT_SSH_UNKNOWN_USERS',
          '`refuse`',
          'What becomes of users who are no account of a machine whose agent runs as root: `refuse`, or `agent`, which is root.',
        ],
        ['AGENT_SSH_HOST', '`127.0.0.1`', 'Addresses on which it listens.'],
        ['AGENT_SSH_PORT', '40022, or a free one', 'Its port.'],
      ],
    },
  ],
};
