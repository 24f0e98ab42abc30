{{- /* What no value alone shows to be wrong: each is refused by one line. */ -}}

{{- define "edge.checks" -}}
{{- if not .Values.image.registry -}}
{{- fail "image.registry is empty: it should be where the images of docs/containers.md were pushed, such as registry.example.com" -}}
{{- end -}}
{{- if not .Values.urls -}}
{{- fail "urls is empty: it should be where machines reach the admins, such as urls={https://edge.example.com}" -}}
{{- end -}}
{{- if and .Values.secrets.existingSecret .Values.secrets.values -}}
{{- fail "secrets.existingSecret and secrets.values are both set: it should be one of them" -}}
{{- end -}}
{{- $field := ternary "keys" "values" (ne .Values.secrets.existingSecret "") -}}
{{- $given := index .Values.secrets $field -}}
{{- range $name, $made := dict "DATABASE_URL" "such as postgresql://user:password@host:5432/database" "ENCRYPTION_KEY" "as made by: openssl rand -base64 32" "MASTER_KEY" "as made by: openssl rand -hex 32" -}}
{{- if not (index $given $name) -}}
{{- if $.Values.secrets.existingSecret -}}
{{- fail (printf "secrets.keys.%s is empty: it should be the key of the Secret %s that holds it" $name $.Values.secrets.existingSecret) -}}
{{- else -}}
{{- fail (printf "secrets.values.%s is empty: it should be the secret itself, %s, or secrets.existingSecret should name a Secret that has it" $name $made) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := $given -}}
{{- if not $value -}}
{{- fail (printf "secrets.%s.%s is empty: it should have a value, or not be there" $field $name) -}}
{{- end -}}
{{- end -}}
{{- if lt (int .Values.stop.graceSeconds) (add (int .Values.stop.waitSeconds) 30 | int) -}}
{{- fail (printf "stop.graceSeconds is %d: it should be at least 30 more than stop.waitSeconds, as an admin has 25 s to hand over its clusters" (int .Values.stop.graceSeconds)) -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not (index $given "METRICS_KEY")) -}}
{{- fail (printf "serviceMonitor.enabled needs METRICS_KEY: secrets.%s.METRICS_KEY should be there, so that Prometheus is not given the master key" $field) -}}
{{- end -}}
{{- if and .Values.hostPerAdmin.domain (not .Values.ingress.enabled) -}}
{{- fail "hostPerAdmin.domain is set without ingress.enabled: it should be the ingress that serves these hosts" -}}
{{- end -}}
{{- if .Values.relay.enabled -}}
{{- if not .Values.relay.hostname -}}
{{- fail "relay.hostname is empty: it should be the name under which machines reach the relay" -}}
{{- end -}}
{{- if not .Values.relay.tlsSecret -}}
{{- fail "relay.tlsSecret is empty: it should name a Secret with tls.crt and tls.key for relay.hostname, where agents fetch the relay map" -}}
{{- end -}}
{{- if .Values.settings.CORE_DERP_MAP_URLS -}}
{{- fail "settings.CORE_DERP_MAP_URLS is set beside relay.enabled: it should be one of them" -}}
{{- end -}}
{{- end -}}
{{- end -}}
