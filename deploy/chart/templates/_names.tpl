{{- /* Names, labels and addresses that several templates share. */ -}}

{{- define "edge.selector" -}}
app.kubernetes.io/name: edge
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "edge.labels" -}}
{{ include "edge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "edge.image" -}}
{{ trimSuffix "/" .root.Values.image.registry }}/edge-{{ .name }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- define "edge.secret" -}}
{{ .Values.secrets.existingSecret | default (printf "%s-secrets" .Release.Name) }}
{{- end -}}

{{- /* Where the key of a setting lies in that Secret, as JSON: NAME: key. */ -}}
{{- define "edge.keys" -}}
{{- if .Values.secrets.existingSecret -}}
{{ .Values.secrets.keys | toJson }}
{{- else -}}
{{- $keys := dict -}}
{{- range $name, $_ := .Values.secrets.values }}{{ $_ := set $keys $name $name }}{{ end -}}
{{ $keys | toJson }}
{{- end -}}
{{- end -}}

{{- /* The scheme at the admins' own port. */ -}}
{{- define "edge.scheme" -}}
{{ if .Values.tls.existingSecret }}https{{ else }}http{{ end }}
{{- end -}}

{{- define "edge.peers" -}}
{{ .Release.Name }}-peers.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

{{- define "edge.inner" -}}
{{ include "edge.scheme" . }}://{{ .Release.Name }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}:44000
{{- end -}}

{{- define "edge.host" -}}
{{ index (urlParse (first .Values.urls)) "hostname" }}
{{- end -}}

{{- define "edge.publicScheme" -}}
{{ index (urlParse (first .Values.urls)) "scheme" }}
{{- end -}}

{{- /* Of all admins, with a comma between: those that were given, then each admin's own. */ -}}
{{- define "edge.urls" -}}
{{- $urls := .Values.urls -}}
{{- if .Values.hostPerAdmin.domain -}}
{{- range $number := until (int .Values.replicas) -}}
{{- $urls = append $urls (printf "%s://%s-%d.%s" (include "edge.publicScheme" $) $.Release.Name $number $.Values.hostPerAdmin.domain) -}}
{{- end -}}
{{- end -}}
{{ join "," $urls }}
{{- end -}}

{{- define "edge.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "edge.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}
